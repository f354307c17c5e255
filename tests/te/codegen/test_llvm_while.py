"""While loops whose condition depends on values that they store."""

import numpy as np

from tvmlite import te
from tvmlite.driver import build


def test_a_while_condition_is_read_again_in_each_iteration() -> None:
    x = te.placeholder((1,), "int64", "x")

    def body(ins, outs):
        builder = te.ir_builder.create()
        source, target = builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0])
        target[0] = source[0]
        with builder.while_loop(target[0] > 3):
            target[0] = target[0] - 2
        return builder.get()

    y = te.extern((1,), [x], body, "y", "int64")
    function = build(te.create_schedule(y.op), [x, y])

    np.testing.assert_array_equal(function(np.array([11], np.int64)), [3])
