"""Values passed from 16-bit product kernels to element-wise kernels are stored in 16 bits."""

import numpy as np

from tvmlite.core.alike import alike
from tvmlite.core.dtype import numpy_of
from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes.fusion.fuse import fuse
from tvmlite.relay.passes.precision.narrow_links import narrow_links

rng = np.random.default_rng(0)
x = var("x", (3, 16), "bfloat16")


def const(*shape: int, dtype: str = "float32") -> Constant:
    return constant((rng.standard_normal(shape) / 4).astype(numpy_of(dtype)))


def product(data: Expr = x) -> Expr:
    return make("nn.dense", data, const(16, 16, dtype="bfloat16"), out_dtype="float32")


def narrowed(body: Expr) -> tuple[Module, Module]:
    """Return the fused module before and after the pass, and check that results are nearly equal."""
    before = fuse(Module({"main": Function((x,), body)}))
    after = narrow_links(before, "bfloat16")
    verify(after)
    data = rng.standard_normal((3, 16)).astype(numpy_of("bfloat16"))
    made, wanted = (np.asarray(interpret(one, [data]), "float32") for one in (after, before))
    assert np.abs(made - wanted).max() <= 2e-2 * np.abs(wanted).max()
    return before, after


def groups(module: Module) -> list[Call]:
    calls = (node for node in postorder(module.main.body) if isinstance(node, Call))
    return [call for call in calls if isinstance(call.op, Function)]


def test_one_of_two_added_products_is_stored_in_16_bits() -> None:
    bias, first, second = const(16), const(16, 16, dtype="bfloat16"), const(16, 16, dtype="bfloat16")

    def sums(weight: Constant) -> Expr:
        return make("add", make("nn.dense", x, weight, out_dtype="float32"), bias)

    _, after = narrowed(make("nn.relu", make("add", sums(first), sums(second))))

    stored, last = sorted(groups(after), key=lambda call: len(postorder_ops(call)))
    assert tensor_type_of(stored).dtype == "bfloat16"
    assert tensor_type_of(last).dtype == "float32"
    assert isinstance(stored.op, Function)
    p = stored.op.params
    wanted = make("add", make("nn.dense", p[0], p[1], out_dtype="float32"), p[2])
    assert alike(stored.op.body, make("cast", wanted, dtype="bfloat16"))
    assert postorder_ops(last).count("cast") == 1


def postorder_ops(call: Call) -> list[object]:
    assert isinstance(call.op, Function)
    return [node.op for node in postorder(call.op.body) if isinstance(node, Call)]


def test_values_read_by_norms_and_outputs_stay_float32() -> None:
    for body in (make("nn.softmax", product()), product(), make("nn.relu", var_sum())):
        before, after = narrowed(body)

        assert after is before


def var_sum() -> Expr:
    """Return a sum of values that no product computed."""
    return make("cast", make("transpose", make("add", x, x), axes=(0, 1)), dtype="float32")


def test_the_skip_connection_of_a_compiled_model_is_stored_in_16_bits() -> None:
    image = var("x", (1, 16, 8, 8))
    first = make("nn.relu", make("nn.conv2d", image, const(16, 16, 1, 1)))
    branches = (make("nn.conv2d", first, const(16, 16, n, n), padding=n // 2) for n in (1, 3))
    module = Module({"main": Function((image,), make("nn.relu", make("add", *branches)))})
    lib = compile(module, "llvm -mcpu=znver4", precision="bfloat16", verify=True)

    kinds = [tensor_type_of(call).dtype for call in groups(lib.module)]
    assert kinds[-1] == "float32"
    assert set(kinds[:-1]) == {"bfloat16"}
