"""Depthwise convolutions of bytes, four taps at once: numpy's sums on every target, and their rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.errors import TypeInferError
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Module
from tvmlite.relay.ir.op import make
from tvmlite.te.space.config import ConfigEntity
from tvmlite.techniques.depthwise_bytes.operator import DEPTHWISE
from tvmlite.techniques.depthwise_bytes.rule import depthwise_bytes

NATIVE = Target.parse("native")
TARGETS = ["native", "c", *(f"llvm -mcpu={cpu}" for cpu in ("cascadelake", "znver4"))]
ZEN4, ALDERLAKE, HASWELL = (
    Target.parse(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}") for cpu in ("znver4", "alderlake", "haswell")
)


def can_run(target: str) -> bool:
    """Whether this machine has what the code for ``target`` needs."""
    if "mcpu" not in target:
        return True
    return NATIVE.triple.startswith("x86_64") and Target.parse(target).instructions <= NATIVE.instructions


def weights(channels: int, high: int, wide: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-128, 128, (channels, 1, high, wide)).astype("int8")


def blocked(
    weight: np.ndarray, shape: tuple[Any, ...], block: int = 16, dtype: str = "int32", **attrs: Any
) -> Module:
    """The convolution of ``(n, c / block, y, x, block)`` as channels in blocks have it."""
    layout = f"OIHW1i{block}o"
    data = relay.var("x", shape=shape, dtype="uint8")
    packed = relay.layout_transform(relay.const(weight), src_layout="OIHW", dst_layout=layout)
    made = make(
        "nn.contrib_depthwise_conv2d_NCHWc",
        data,
        packed,
        groups=weight.shape[0],
        kernel_size=weight.shape[2:],
        data_layout=f"NCHW{block}c",
        out_layout=f"NCHW{block}c",
        kernel_layout=layout,
        out_dtype=dtype,
        **attrs,
    )
    return Module.from_expr(relay.Function((data,), made))


def requantized(module: Module) -> Module:
    """``module`` and what follows it between two layers."""
    main = module.main
    sums = relay.cast(main.body, "float32")
    scaled = relay.multiply(sums, relay.const(np.float32(3e-3)))
    codes = relay.qnn.quantize(
        scaled, relay.const(np.float32(1)), relay.const(np.int32(7)), out_dtype="uint8"
    )
    return Module.from_expr(relay.Function(main.params, codes))


def expected(
    x: np.ndarray, weight: np.ndarray, strides: tuple[int, int], padding: tuple[int, ...], dilation: int
) -> np.ndarray:
    """The sums in int64, place by place of the window."""
    top, left, bottom, right = padding
    wide = np.pad(x.astype("int64"), [(0, 0), (0, 0), (top, bottom), (left, right), (0, 0)])
    high, along = weight.shape[2:]
    rows = (wide.shape[2] - (high - 1) * dilation - 1) // strides[0] + 1
    columns = (wide.shape[3] - along) // strides[1] + 1
    by_block = weight.reshape(x.shape[1], x.shape[4], high, along).astype("int64")
    made = np.zeros((*x.shape[:2], rows, columns, x.shape[4]), "int64")
    for ky in range(high):
        for kx in range(along):
            begin = ky * dilation
            view = wide[:, :, begin : begin + (rows - 1) * strides[0] + 1 : strides[0]]
            view = view[:, :, :, kx : kx + (columns - 1) * strides[1] + 1 : strides[1]]
            made += view * by_block[:, None, None, :, ky, kx].transpose(0, 1, 2, 3)
    return made


CASES = [
    # channels, rows, columns, window, strides, padding, dilation of rows
    (32, 17, 19, (3, 3), (1, 1), (1, 1, 1, 1), 1),
    (48, 14, 14, (3, 3), (1, 1), (1, 1, 1, 1), 1),
    (96, 7, 7, (3, 3), (1, 1), (1, 1, 1, 1), 1),
    (16, 9, 70, (3, 3), (1, 1), (1, 1, 1, 1), 1),
    (32, 16, 16, (3, 3), (2, 2), (0, 0, 1, 1), 1),
    (16, 20, 45, (5, 5), (1, 1), (2, 2, 2, 2), 1),
    (16, 23, 12, (7, 7), (2, 1), (3, 3, 3, 3), 1),
    (16, 11, 6, (1, 4), (1, 3), (0, 0, 0, 0), 1),
    (16, 13, 40, (3, 9), (1, 1), (2, 6, 0, 1), 2),
    (16, 1, 1, (3, 3), (1, 1), (1, 1, 1, 1), 1),
]

MARKS = {
    (5, 5): pytest.mark.slow,
    (7, 7): [pytest.mark.slow, pytest.mark.exhaustive],
    (3, 9): pytest.mark.slow,
}
"""Of windows that take seconds."""


def marks_of(case: Any, target: str) -> Any:
    """The C compiler takes the time of all else together where windows are large."""
    return pytest.mark.exhaustive if target == "c" and case[3] in MARKS else MARKS.get(case[3], ())


@pytest.mark.parametrize(
    ("case", "target"),
    [
        pytest.param(case, target, marks=marks_of(case, target), id=f"{case}-{target}")
        for case in CASES
        for target in TARGETS
    ],
)
def test_sums_are_those_of_numpy(case: Any, target: str) -> None:
    if not can_run(target):
        pytest.skip("this machine has not the instructions")
    channels, rows, columns, window, strides, padding, dilation = case
    weight = weights(channels, *window)
    attrs = {"strides": strides, "padding": padding, "dilation": (dilation, 1)}
    module = depthwise_bytes(ZEN4)(blocked(weight, (2, channels // 16, rows, columns, 16), **attrs))
    x = np.random.default_rng(1).integers(0, 256, (2, channels // 16, rows, columns, 16)).astype("uint8")
    sums = expected(x, weight, strides, padding, dilation)

    np.testing.assert_array_equal(interpret(module, [x]), sums)
    np.testing.assert_array_equal(tvmlite.compile(module, target=target)(x), sums)

    scaled = np.rint(sums.astype("float32") * np.float32(3e-3)) + 7
    made = tvmlite.compile(requantized(module), target=target)(x)
    np.testing.assert_array_equal(made, np.clip(scaled, 0, 255).astype("uint8"))


TASK = """fn (%x: Tensor[(1, 1, 23, 26, 16), uint8], %w: Tensor[(1, 1, 3, 1, 16, 4), int8]) {
  cast(nn.contrib_depthwise_conv2d_taps(%x, %w, groups=16, kernel_size=[3, 3], padding=[1, 1]),
    dtype="float32")
}"""


def test_every_choice_of_every_knob_gives_the_same() -> None:
    task = tasks.task_of(tasks.group_of(TASK), NATIVE)
    weight = weights(16, 3, 3)
    x = np.random.default_rng(0).integers(0, 256, (1, 1, 23, 26, 16)).astype("uint8")
    packed = np.zeros((1, 1, 3, 1, 16, 4), "int8")
    packed[0, 0, :, 0, :, :3] = weight[:, 0].transpose(1, 0, 2)
    knobs = {name: list(space) for name, space in task.config_space.space_map.items() if "hand." in name}
    assert {"hand.tile", "hand.chunk"} <= knobs.keys()

    for name, choices in knobs.items():
        for choice in choices[::5] if name == "hand.tile" else choices:
            settings = {**task.default.settings, name.removeprefix("hand."): choice}
            made = tvmlite.build(*task.instantiate(ConfigEntity(settings)), name="taps")(x, packed)
            np.testing.assert_array_equal(made, expected(x, weight, (1, 1), (1, 1, 1, 1), 1), str(choice))


def test_the_largest_sums_are_exact() -> None:
    weight = np.full((16, 1, 5, 5), -128, "int8")
    module = depthwise_bytes(ZEN4)(blocked(weight, (1, 1, 6, 8, 16)))
    x = np.full((1, 1, 6, 8, 16), 255, "uint8")

    made = tvmlite.compile(module)(x)

    np.testing.assert_array_equal(made, np.full((1, 1, 2, 4, 16), -128 * 255 * 25))


def test_a_batch_may_be_of_any_size() -> None:
    weight = weights(32, 3, 3)
    module = depthwise_bytes(ZEN4)(blocked(weight, ("n", 2, 8, 9, 16), padding=(1, 1, 1, 1)))
    lib = tvmlite.compile(module)

    for count in (1, 3):
        x = np.random.default_rng(count).integers(0, 256, (count, 2, 8, 9, 16)).astype("uint8")
        np.testing.assert_array_equal(lib(x), expected(x, weight, (1, 1), (1, 1, 1, 1), 1))


@pytest.mark.parametrize(
    ("target", "instructions"),
    [(ZEN4, ("vpermb", "vpdpbusd")), (ALDERLAKE, ("vpermd", "vpshufb", "vpdpbusd"))],
)
def test_what_it_is_made_of(target: Target, instructions: tuple[str, ...]) -> None:
    block = target.lanes("int32")
    module = requantized(blocked(weights(2 * block, 3, 3), (1, 2, 8, 8, block), block, padding=(1, 1, 1, 1)))

    text = tvmlite.compile(module, target=str(target)).source("asm")

    assert all(f"\t{name}\t" in text for name in (*instructions, "vpackuswb"))


# --- the rule ---------------------------------------------------------------------------------------


def test_it_takes_the_place_of_a_convolution_of_bytes() -> None:
    module = blocked(weights(32, 3, 3), (1, 2, 8, 8, 16), dtype="float32")

    made = depthwise_bytes(ZEN4)(module)

    assert isinstance(made.main.body, Call)
    assert made.main.body.op == DEPTHWISE
    assert str(tensor_type_of(made.main.body)) == str(tensor_type_of(module.main.body))
    x = np.random.default_rng(0).integers(0, 256, (1, 2, 8, 8, 16)).astype("uint8")
    np.testing.assert_array_equal(interpret(made, [x]), interpret(module, [x]))


@pytest.mark.parametrize(
    ("module", "target"),
    [
        (blocked(weights(32, 3, 3), (1, 2, 8, 8, 16)), HASWELL),
        (blocked(weights(32, 3, 3), (1, 2, 8, 8, 16)), ALDERLAKE),
        (blocked(weights(16, 3, 3), (1, 2, 8, 8, 8), 8), ZEN4),
        (blocked(weights(32, 3, 3), (1, 2, 8, 8, 16), dilation=(2, 2)), ZEN4),
        (blocked(weights(32, 3, 3), (1, 2, "h", 8, 16)), ZEN4),
    ],
    ids=["no instruction", "wide block", "narrow block", "taps apart", "open rows"],
)
def test_others_stay_the_same_object(module: Module, target: Target) -> None:
    assert depthwise_bytes(target)(module) is module


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"kernel_layout": "OIHW8o4w"},
            "weight is .* of kernel_layout 'OIHW8o4w', expected .* of 'OIHW16o4w'",
        ),
        ({"kernel_size": (3, 5)}, r"expected \(2, 1, 3, 2, 16, 4\)"),
        ({"dilation": (1, 2)}, "dilation is .*expected a dilation of 1 along rows"),
        ({"out_dtype": "int8"}, "uint8, int8, int8; expected uint8, int8, int32 or float32"),
    ],
)
def test_what_does_not_fit_is_an_error(wrong: dict[str, Any], message: str) -> None:
    attrs = {"kernel_size": (3, 3), **wrong}
    data = relay.var("x", shape=(1, 2, 8, 8, 16), dtype="uint8")
    weight = relay.var("w", shape=(2, 1, 3, 1, 16, 4), dtype="int8")

    with pytest.raises(TypeInferError, match=message):
        tensor_type_of(make(DEPTHWISE, data, weight, **attrs))
