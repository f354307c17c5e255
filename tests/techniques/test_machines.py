"""Default schedules that differ between kinds of processors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tvmlite import build
from tvmlite.core.node import Node, postorder
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.passes import legalize
from tvmlite.te.lowering.lower import lower
from tvmlite.te.space import Task

INTEL = "llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server"
AMD = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver5"

FEW_REGISTERS = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver3"

DENSE = """fn (%x: Tensor[(1, 64, 256), float32], %w: Tensor[(16, 256, 16), float32]) {
  nn.contrib_dense_pack(%x, %w, units=256)
}"""

ONE_ROW = """fn (%x: Tensor[(1, 256), float32], %w: Tensor[(16, 256, 16), float32]) {
  nn.contrib_dense_pack(%x, %w, units=256)
}"""

FEW_PIXELS = """fn (%x: Tensor[(1, 16, 14, 14, 16), float32], %w: Tensor[(16, 256, 3, 3, 16), float32]) {
  nn.contrib_conv2d_NCHWc(%x, %w, channels=256, kernel_size=[3, 3], out_layout="NCHW16c", padding=[1, 1])
}"""

BLOCKS_OF_8 = """fn (%x: Tensor[(1, 16, 14, 14, 8), float32], %w: Tensor[(16, 128, 3, 3, 8), float32]) {
  nn.contrib_conv2d_NCHWc(%x, %w, channels=128, kernel_size=[3, 3], padding=[1, 1],
    data_layout="NCHW8c", out_layout="NCHW8c", kernel_layout="OIHW8o")
}"""

FEW_CHANNELS = BLOCKS_OF_8.replace("(1, 16,", "(1, 4,").replace("(16, 128,", "(16, 32,")

MANY_PIXELS = """fn (%x: Tensor[(1, 4, 56, 56, 16), float32], %w: Tensor[(4, 64, 3, 3, 16), float32]) {
  nn.contrib_conv2d_NCHWc(%x, %w, channels=64, kernel_size=[3, 3], out_layout="NCHW16c", padding=[1, 1])
}"""

POINTWISE = """fn (%x: Tensor[(1, 4, 28, 28, 16), float32], %w: Tensor[(4, 64, 1, 1, 16), float32]) {
  nn.contrib_conv2d_NCHWc(%x, %w, channels=64, kernel_size=[1, 1], out_layout="NCHW16c")
}"""

DEPTHWISE = """fn (%x: Tensor[(1, 4, 28, 28, 16), float32], %w: Tensor[(4, 1, 3, 3, 1, 16), float32]) {
  nn.contrib_depthwise_conv2d_NCHWc(%x, %w, channels=64, groups=64, kernel_size=[3, 3], padding=[1, 1],
    out_layout="NCHW16c")
}"""

DEPTHWISE_OF_8 = """fn (%x: Tensor[(1, 4, {0}, {0}, 8), float32], %w: Tensor[(4, 1, 3, 3, 1, 8), float32]) {{
  nn.contrib_depthwise_conv2d_NCHWc(%x, %w, channels=32, groups=32, kernel_size=[3, 3], padding=[1, 1],
    data_layout="NCHW8c", kernel_layout="OIHW1i8o", out_layout="NCHW8c")
}}"""

CASES = [
    (DENSE, "steps", "2", "1"),
    (ONE_ROW, "steps", "1", "1"),
    (FEW_PIXELS, "ahead", "panel", "panel"),
    (MANY_PIXELS, "ahead", "16", "0"),
    (MANY_PIXELS, "order", "1,0,2,3,4", "0,1,2,3,4"),
    (FEW_PIXELS, "order", "0,1,2,3,4", "0,1,2,3,4"),
    (POINTWISE, "order", "1,0,2,3", "0,1,2,3"),
    (POINTWISE, "panel_tiles", "4", "1"),
    (DEPTHWISE, "outer", "rows", "blocks"),
    (DEPTHWISE.replace("28, 28", "7, 7"), "outer", "blocks", "blocks"),
]


def task(text: str, target: str) -> Task:
    return tasks.task_of(tasks.group_of(text), Target.parse(target))


@pytest.mark.parametrize(("text", "knob", "intel", "amd"), CASES)
def test_defaults_depend_on_the_machine(text: str, knob: str, intel: str, amd: str) -> None:
    found = [str(task(text, target).default[knob]) for target in (INTEL, AMD)]

    assert found == [intel, amd]


@pytest.mark.parametrize(("dtype", "outer"), [("float32", "rows"), ("bfloat16", "blocks")])
def test_the_outer_loop_of_a_depthwise_layer_depends_on_the_dtype(dtype: str, outer: str) -> None:
    one = task(DEPTHWISE.replace("float32", dtype), "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids")

    assert str(one.default["outer"]) == outer


@pytest.mark.parametrize(("side", "outer"), [(28, "blocks"), (56, "rows")])
def test_with_few_registers_a_layer_needs_enough_rows_to_be_by_rows(side: int, outer: str) -> None:
    """With few registers a part has at least eight rows, and 28 rows are too few."""
    one = task(DEPTHWISE_OF_8.format(side), f"{INTEL} -mattr=-avx512f")

    assert str(one.default["outer"]) == outer


@pytest.mark.parametrize(("text", "knob"), [case[:2] for case in CASES])
def test_the_search_space_has_the_defaults_of_both_machines(text: str, knob: str) -> None:
    space = task(text, INTEL).config_space.space_map[f"hand.{knob}"]

    assert {task(text, target).default[knob] for target in (INTEL, AMD)} <= set(space)


def test_with_few_registers_an_iteration_takes_more_steps() -> None:
    steps = [str(task(DENSE, target).default["steps"]) for target in (FEW_REGISTERS, INTEL)]

    assert steps == ["4", "2"]
    turns = [{one.extent.value for one in tiles(DENSE, target)} for target in (FEW_REGISTERS, INTEL)]
    assert turns == [{16}, {32}]  # iterations between prefetches, of four and of two steps


@pytest.mark.parametrize(("cpu", "ahead"), [("znver4", "0"), ("znver5", "8")])
def test_data_streamed_by_the_hardware_are_not_prefetched(cpu: str, ahead: str) -> None:
    assert str(task(ONE_ROW, AMD.replace("znver5", cpu)).default["ahead"]) == ahead


@pytest.mark.parametrize(
    ("data", "weight", "out", "ahead"),
    [("uint8", "int8", "int32", "panel"), ("bfloat16", "bfloat16", "", "0")],
)
def test_the_next_panel_of_bytes_is_prefetched(data: str, weight: str, out: str, ahead: str) -> None:
    together = 4 if data == "uint8" else 2
    text = f"""fn (%x: Tensor[(1, 32, 7, 7, 16), {data}],
        %w: Tensor[(32, {512 // together}, 3, 3, 16, {together}), {weight}]) {{
      nn.relu(nn.contrib_conv2d_NCHWc(%x, %w, channels=512, kernel_size=[3, 3], padding=[1, 1],
        data_layout="NCHW16c", out_layout="NCHW16c", kernel_layout="OIHW16o{together}i", out_dtype="{out}"))
    }}"""

    assert str(task(text, AMD).default["ahead"]) == ahead


def test_a_window_uses_nested_loops_where_index_arithmetic_is_expensive() -> None:
    assert quotients(FEW_PIXELS, INTEL) == 0
    assert quotients(FEW_PIXELS, AMD) > 0
    assert quotients(BLOCKS_OF_8, FEW_REGISTERS) == 0


WINOGRAD = """fn (%x: Tensor[(1, {0}, 56, 56, {1}), float32], %w: Tensor[({0}, 6, 6, 64, {1}), float32]) {{
  nn.contrib_conv2d_winograd_without_weight_transform(%x, %w, channels=64, kernel_size=[3, 3],
    padding=[1, 1, 1, 1], tile_size=4,
    data_layout="NCHW{1}c", kernel_layout="OHWI{1}o", out_layout="NCHW{1}c")
}}"""


@pytest.mark.parametrize(("side", "order"), [(112, "rows first"), (28, "panels first")])
def test_with_few_registers_a_large_image_is_read_row_by_row(side: int, order: str) -> None:
    text = BLOCKS_OF_8.replace("14, 14", f"{side}, {side}")

    assert str(task(text, FEW_REGISTERS).default["order"]) == order


WIDE = """fn (%x: Tensor[(1, 16, 12, 160, 8), float32], %w: Tensor[(16, 128, 1, 1, 8), float32]) {
  nn.relu(nn.contrib_conv2d_NCHWc(%x, %w, channels=128, kernel_size=[1, 1],
    data_layout="NCHW8c", out_layout="NCHW8c", kernel_layout="OIHW8o"))
}"""


@pytest.mark.parametrize("text", [WIDE, WIDE.replace("12, 160", "6, 80"), WIDE.replace("12, 160", "56, 56")])
def test_accumulators_of_a_tile_that_could_span_rows_fit_into_registers(text: str) -> None:
    one = task(text, FEW_REGISTERS)

    lowered = lower(*one.instantiate(one.default))

    sums = [node for node in postorder(lowered.body) if isinstance(node, loop.Allocate)]
    assert sums
    assert all(np.prod([int(str(extent)) for extent in node.buffer.shape]) <= 16 * 8 for node in sums)


@pytest.mark.parametrize(
    ("target", "lanes", "ahead"), [(INTEL, 16, "32"), (AMD, 16, "256"), (FEW_REGISTERS, 8, "0")]
)
def test_the_prefetch_distance_of_transformed_weights_depends_on_the_machine(
    target: str, lanes: int, ahead: str
) -> None:
    assert str(task(WINOGRAD.format(64 // lanes, lanes), target).default["ahead"]) == ahead


def test_a_weight_larger_than_the_l2_cache_is_read_once_for_several_tiles() -> None:
    assert 4 * 36 * 64 * 64 > 1 << 19

    assert int(str(task(WINOGRAD.format(8, 8), FEW_REGISTERS).default["several"])) > 1


@pytest.mark.parametrize(
    ("text", "knob", "few"),
    [
        (FEW_CHANNELS, "taps", "2"),
        (FEW_CHANNELS, "channels", "1"),
        (FEW_CHANNELS, "tile", "-1x2x1x5"),
        (BLOCKS_OF_8, "tile", "-1x2x1x5"),
        (BLOCKS_OF_8, "window", "unrolled"),
    ],
)
def test_a_small_tile_takes_a_whole_window_per_iteration(text: str, knob: str, few: str) -> None:
    assert str(task(text, FEW_REGISTERS).default[knob]) == few


@pytest.mark.parametrize(("target", "caches"), [(INTEL, {"prefetch", "prefetch_l2"}), (AMD, {"prefetch_l2"})])
def test_a_panel_is_prefetched_twice_where_hardware_prefetching_ends_at_pages(
    target: str, caches: set[str]
) -> None:
    calls = {node.name for node in postorder(legal(FEW_PIXELS, target).body) if isinstance(node, e.Call)}

    assert {name for name in calls if name.startswith("prefetch")} == caches


@pytest.mark.parametrize(("text", "window"), [(MANY_PIXELS, 3), (POINTWISE, 1)])
def test_a_convolution_parallelized_by_rows_gives_the_same_results(
    text: str, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = dataclasses.replace(Target.parse("native").machine, shared_cache_is_far=True)
    monkeypatch.setattr(Target, "machine", property(lambda _: far))
    one = task(text, "native")
    schedule, args = one.instantiate(one.default)
    built = build(schedule, args, "native")
    data, weight, made = (np.zeros(one.shape, "float32") for one in built.signature.arrays)
    rng = np.random.default_rng(0)
    data[...], weight[...] = rng.standard_normal(data.shape), rng.standard_normal(weight.shape)

    built(data, weight, made)

    assert str(one.default["order"]).startswith("1,0")
    image = np.pad(in_channels(data), [(0, 0), (window // 2,) * 2, (window // 2,) * 2])
    read = np.lib.stride_tricks.sliding_window_view(image, (window, window), axis=(1, 2))
    kernels = weight.transpose(0, 4, 1, 2, 3).reshape(-1, len(image), window, window)
    expected = np.einsum("chwyx,ocyx->ohw", read, kernels)
    np.testing.assert_allclose(in_channels(made), expected, rtol=1e-3, atol=1e-3)


def in_channels(blocked: np.ndarray) -> np.ndarray:
    """``(1, n, h, w, 16)`` as ``(n * 16, h, w)``."""
    _, blocks, high, wide, lanes = blocked.shape
    return blocked[0].transpose(0, 3, 1, 2).reshape(blocks * lanes, high, wide)


def legal(text: str, target: str) -> loop.Function:
    one = task(text, target)
    schedule, args = one.instantiate(one.default)
    return legalize(lower(schedule, args), Target.parse(target))


def quotients(text: str, target: str) -> int:
    """The number of divisions and remainders in the loops that accumulate a tile."""
    return sum(count(list(postorder(one.body)), (e.FloorDiv, e.FloorMod)) for one in tiles(text, target))


def tiles(text: str, target: str) -> list[loop.For]:
    """The innermost loops that accumulate a tile: many stores, no loop inside."""
    loops = [node for node in postorder(legal(text, target).body) if isinstance(node, loop.For)]
    found = [one for one in loops if adds_up(list(postorder(one.body)))]
    assert found
    return found


def adds_up(nodes: list[Node]) -> bool:
    return count(nodes, loop.Store) >= 8 and not count(nodes, loop.For)


def count(nodes: list[Node], kinds: type | tuple[type, ...]) -> int:
    return sum(isinstance(node, kinds) for node in nodes)


ATTENTION = """fn (%q: Tensor[(1, 12, {0}, 32), float32], %k: Tensor[(1, 12, {0}, 32), float32],
    %v: Tensor[(1, 12, {0}, 32), float32], %m: Tensor[(), float32]) {{
  nn.attention(%q, %k, %v, %m)
}}"""


@pytest.mark.parametrize(("queries", "tile"), [(128, "-1x2x5"), (3, "-1x2x3")])
def test_with_few_registers_both_products_of_attention_fill_them(queries: int, tile: str) -> None:
    assert str(task(ATTENTION.format(queries), FEW_REGISTERS).default["tile"]) == tile


@pytest.mark.parametrize("side", [13, 14])
def test_a_small_tile_of_pixels_may_span_rows(side: int) -> None:
    """13 pixels by one block would load a scalar per multiply-add.

    Tiles of 4 would fill the image of 14 by 14 pixels but not its rows, which bound inference cannot use.
    """
    image = f"Tensor[(1, 16, {side}, {side}, 8), float32]"
    text = f"""fn (%x: {image}, %w: Tensor[(16, 128, 1, 1, 8), float32]) {{
      nn.contrib_conv2d_NCHWc(%x, %w, channels=128, kernel_size=[1, 1],
        data_layout="NCHW8c", out_layout="NCHW8c", kernel_layout="OIHW8o")
    }}"""

    assert str(task(text, FEW_REGISTERS).default["tile"]) == "-1x4x1x3"


BYTES = """fn (%x: Tensor[(1, 4, {0}, {0}, 16), uint8], %w: Tensor[(4, 16, 1, 1, 16, 4), int8]) {{
  {1}(nn.contrib_conv2d_NCHWc(%x, %w, channels=64, kernel_size=[1, 1],
    out_layout="NCHW16c", kernel_layout="OIHW16o4i", out_dtype="int32"){2})
}}"""

TO_BYTES = ("cast", ', dtype="uint8"')


@pytest.mark.parametrize(
    ("side", "stored", "processor", "tile"),
    [
        (56, TO_BYTES, "znver4", "-1x2x1x4"),
        (56, TO_BYTES, "znver5", "-1x2x1x8"),
        (56, ("nn.relu", ""), "znver4", "-1x2x1x14"),
        (7, TO_BYTES, "znver4", "-1x2x1x7"),
    ],
)
def test_tiles_stored_as_bytes_are_small_so_rounding_overlaps_products(
    side: int, stored: tuple[str, str], processor: str, tile: str
) -> None:
    """A small tile keeps multiply-add units busy; whole vectors of bytes are stored where rows allow it."""
    text = BYTES.format(side, *stored)

    assert str(task(text, f"llvm -mtriple=x86_64-linux-gnu -mcpu={processor}").default["tile"]) == tile
