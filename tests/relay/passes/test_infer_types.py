import pytest

from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir.nodes import Function, Module, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.infer_types import infer_types


def test_a_well_typed_module_is_returned_unchanged() -> None:
    module = Module({"main": Function((x := var("x", ("n", 2)),), make("exp", x))})

    assert infer_types(module) is module


def test_the_error_names_the_operator_and_the_line() -> None:
    x, y = var("x", (2, 3)), var("y", (4,))
    bad = make("add", x, y)

    with pytest.raises(TypeInferError, match=r"(?s)add: .*test_infer_types.py:\d+: bad = make"):
        infer_types(Module({"main": Function((x, y), bad)}))
