import time

import numpy as np
import pytest

from tvmlite.core.errors import ConfigError, TypeInferError
from tvmlite.core.node import postorder
from tvmlite.core.pipeline import Times
from tvmlite.relay import passes, transform
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple, TupleGetItem, constant, var
from tvmlite.relay.ir.op import is_view, make
from tvmlite.relay.ir.verify import verify

rng = np.random.default_rng(0)


def network(blocks: int, channels: int = 8, size=6) -> Module:
    """Return convolution, batch norm, relu and a shortcut, ``blocks`` times, then a classifier."""

    def parameter(*shape: int):
        return constant(rng.uniform(0.1, 0.3, shape).astype("float32"))

    x = var("x", (1, channels, size, size))
    value: Expr = x
    for _ in range(blocks):
        weights = parameter(channels, channels, 3, 3)
        made = make("nn.conv2d", value, weights, padding=(1, 1, 1, 1))
        made = TupleGetItem(make("nn.batch_norm", made, *(parameter(channels) for _ in range(4))), 0)
        value = make("multiply", make("nn.relu", make("add", made, value)), constant(np.float32(0.1)))
    flat = make("reshape", make("nn.global_avg_pool2d", value), newshape=(1, -1))
    return Module({"main": Function((x,), make("nn.dense", flat, parameter(5, channels)))})


@pytest.mark.parametrize("level", range(5))
def test_every_level_keeps_the_results_and_leaves_only_groups(assert_same_meaning, level: int) -> None:
    before = network(2)
    after = passes.pipeline(level).run(before)

    verify(after)
    assert_same_meaning(before, after, rtol=1e-4)
    calls = [n for n in postorder(after.main.body) if isinstance(n, Call)]
    assert all(isinstance(c.op, Function) or (level >= 2 and is_view(c)) for c in calls)


def test_higher_levels_need_fewer_kernels() -> None:
    counts = []
    for level in range(3):
        body = passes.pipeline(level).run(network(3)).main.body
        counts.append(sum(isinstance(n, Call) for n in postorder(body)))

    assert counts[0] > counts[1] >= counts[2]
    assert counts[2] == 3 + 3


def test_inputs_returned_as_outputs_get_separate_kernels() -> None:
    x = var("x", (2, 2))
    after = passes.pipeline(3).run(Module({"main": Function((x,), Tuple((x, x)))}))

    assert isinstance(after.main.body, Tuple)
    assert all(isinstance(field, Call) for field in after.main.body.fields)


def test_opt_level_and_types_are_checked() -> None:
    with pytest.raises(ConfigError, match="opt_level is 7, expected 0 to 4"):
        passes.pipeline(7)
    bad = Module({"main": Function((), make("add", constant(np.ones(2)), constant(np.ones(3))))})
    with pytest.raises(TypeInferError, match="add"):
        passes.pipeline().run(bad)


def test_passes_are_available_under_their_names_and_tvms() -> None:
    module = network(1)

    assert set(passes.by_name()) >= {"fuse", "fold_constant", "dead_code"}
    assert transform.InferType()(module) is module
    sequence = transform.Sequential(
        [
            transform.SimplifyInference(),
            transform.FoldConstant(),
            transform.FoldScaleAxis(),
            transform.EliminateCommonSubexpr(),
            transform.SimplifyExpr(),
            transform.DeadCodeElimination(),
            transform.FuseOps(),
        ]
    )
    assert all(
        isinstance(n.op, Function) for n in postorder(sequence(module).main.body) if isinstance(n, Call)
    )
    one_each = transform.FuseOps(fuse_opt_level=0)(module)
    assert sum(isinstance(n, Call) for n in postorder(one_each.main.body)) == sum(
        isinstance(n, Call) for n in postorder(module.main.body)
    )


def test_a_large_graph_is_optimized_in_seconds() -> None:
    module = network(200, size="h")
    assert sum(1 for n in postorder(module.main.body)) > 1500
    times = Times()
    start = time.perf_counter()

    passes.pipeline(3).run(module, times)

    assert time.perf_counter() - start < 6, str(times)  # about 1 s on an idle machine
