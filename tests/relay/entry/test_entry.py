"""The compiled entry: kernels called in order on places known beforehand; run by the interpreter of loops."""

import numpy as np
import pytest

from tvmlite.core.errors import TypeInferError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.entry.entry import KernelInterface, build_entry
from tvmlite.relay.entry.kernels import kernel_tasks
from tvmlite.relay.entry.lower import dimensions, lower_group
from tvmlite.relay.entry.memory import slots_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Function, Module, Tuple, TupleGetItem, Var, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType, TupleType
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.interpret import interpret as run_loops
from tvmlite.te.loop.passes import legalize
from tvmlite.te.loop.verify import verify

native = Target.parse("native")
rng = np.random.default_rng(0)


def compiled(module: Module):
    """Entry, constants and legal kernels of a module after all passes."""
    fused = passes.pipeline(3, native).run(module)
    tasks, task_of = kernel_tasks(fused, native)
    legal = {t.key: legalize(lower_group(t.canonical, native, t.symbol), native) for t in tasks}
    interfaces = {
        group: KernelInterface(
            t.symbol, dimensions(t.canonical), legal[t.key].workspace, legal[t.key].messages
        ).at(t.extents)
        for group, t in task_of.items()
    }
    entry, constants = build_entry(fused, "model", interfaces)
    verify(entry, legal=True)
    return entry, constants, list(legal.values())


def check(module: Module, arrays: list[np.ndarray], sizes: tuple[int, ...] = ()) -> loop.Function:
    """The entry gives what the graph interpreter gives."""
    wanted = interpret(module, arrays)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    entry, constants, kernels = compiled(module)
    outputs = [np.full(w.shape, 9, w.dtype) for w in wanted]
    bound = dict(zip(entry.sizes, sizes, strict=True))
    run_loops(
        entry,
        [*arrays, *outputs],
        bound,
        constants={"model_constants": constants.blob()},
        kernels={k.name: k for k in kernels},
    )
    for got, want in zip(outputs, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    return entry


def floats(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype("float32")


def network(*shape) -> Module:
    """Two convolutions around a softmax: several kernels, intermediates, constants."""
    x = var("x", shape)
    first = make("nn.relu", make("nn.conv2d", x, constant(floats(4, 3, 3, 3)), padding=(1, 1, 1, 1)))
    middle = make("nn.softmax", first, axis=1)
    last = make("nn.conv2d", middle, constant(floats(2, 4, 1, 1)))
    return Module({"main": Function((x,), last)}, ("y",))


def test_a_network_runs_kernel_by_kernel() -> None:
    entry = check(network(1, 3, 5, 6), [floats(1, 3, 5, 6)])

    assert len(entry.kernels) == 3
    assert [p.name for p in entry.params] == ["x", "y"]


def test_one_entry_serves_every_size() -> None:
    module = network("n", 3, "h", "w")

    for n, h, w in ((1, 4, 5), (2, 7, 3)):
        entry = check(module, [floats(n, 3, h, w)], (n, h, w))

    assert [s.name for s in entry.sizes] == ["n", "h", "w"]


def test_equal_groups_share_a_kernel() -> None:
    x = var("x", (2, 8))
    weight = constant(floats(8, 8))
    once = make("nn.relu", make("nn.dense", x, weight))
    twice = make("nn.relu", make("nn.dense", once, constant(floats(8, 8))))

    entry = check(Module({"main": Function((x,), twice)}), [floats(2, 8)])

    assert len(entry.kernels) == 2
    assert len(set(entry.kernels)) == 1


def test_outputs_may_be_read_by_later_kernels_and_stand_twice() -> None:
    x = var("x", (4, 4))
    a = make("nn.softmax", x)
    b = make("nn.softmax", make("nn.relu", a))

    check(Module({"main": Function((x,), Tuple((b, a, x, b)))}), [floats(4, 4)])


def test_results_of_a_split_have_places_of_their_own() -> None:
    x = var("x", (4, 6))
    parts = make("split", x, indices_or_sections=3, axis=1)
    body = make("nn.softmax", make("add", TupleGetItem(parts, 2), TupleGetItem(parts, 0)))

    check(Module({"main": Function((x,), body)}), [floats(4, 6)])
    assert slots_of(TupleGetItem(Tuple((x, TupleGetItem(parts, 1))), 1)) == [(parts, 1)]


def test_a_dimension_that_no_input_has_is_named() -> None:
    x = var("x", (1, 3))
    free = var("y", ("elsewhere",)).type.shape[0]
    module = Module({"main": Function((x,), make("broadcast_to", x, shape=(free, 3)))})

    with pytest.raises(TypeInferError, match="dimension 'elsewhere' is not an extent of any input"):
        compiled(module)


def test_a_promise_within_a_fused_kernel_is_told_with_its_own_node() -> None:
    x, y = var("x", ("n",)), var("y", ("m",))
    (m,) = y.type.shape  # type: ignore[union-attr]
    assumed = make("assume_shape", make("exp", x), newshape=(m,), span=Span("model", 1, 'node "Sum" (Add)'))
    body = make("add", assumed, y, span=Span("model", 1, 'node "Last" (Add)'))
    entry, _, kernels = compiled(Module({"main": Function((x, y), body)}))

    assert len(kernels) == 1
    assert entry.messages[0] == 'node "Sum" (Add): the extents n and m must be equal'


def test_a_parameter_of_several_tensors_is_refused() -> None:
    scalar = TensorType((), "int32")
    both = Var("both", TupleType((scalar, scalar)))
    module = Module({"main": Function((both,), TupleGetItem(both, 0))})
    with pytest.raises(UnsupportedError, match=r"parameter both is of type \(Tensor.*(?s:.*)a parameter, or"):
        compiled(module)
