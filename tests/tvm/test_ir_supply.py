"""``tvm.ir.supply``: each name is given once."""

from __future__ import annotations

import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError
from tvmlite.tvm import relay
from tvmlite.tvm.ir.supply import GlobalVarSupply, NameSupply


def test_a_name_that_is_taken_gets_a_number() -> None:
    supply = NameSupply("p")
    assert supply.reserve_name("a") == "p_a"

    assert [supply.fresh_name(name) for name in ("a", "a", "b.c")] == ["p_a1", "p_a2", "p_b_c"]
    assert supply.fresh_name("a", add_prefix=False) == "a"
    assert supply.contains_name("a1")
    assert not supply.contains_name("a1", add_prefix=False)


def test_global_var_supply_avoids_names_of_the_module() -> None:
    x, f = relay.var("x", shape=(2,)), relay.GlobalVar("f")
    mod = tvm.IRModule({f: relay.Function([x], x)})
    named = mod.with_attr("mod_name", "m")

    supply = GlobalVarSupply(mod)

    assert supply.unique_global_for("f", add_prefix=False) is f
    assert supply.fresh_global("f", add_prefix=False).name_hint == "f1"
    assert supply.unique_global_for("f") is supply.unique_global_for("f")
    assert supply.unique_global_for("f").name_hint == "tvmgen_default_f"
    assert GlobalVarSupply([named]).fresh_global("f").name_hint == "m_f"
    assert GlobalVarSupply(NameSupply("p")).fresh_global("f").name_hint == "p_f"


def test_taken_names_and_wrong_sources_are_errors() -> None:
    supply = GlobalVarSupply()
    supply.reserve_global(relay.GlobalVar("f"))

    with pytest.raises(InputError, match="@f is taken already"):
        supply.reserve_global(relay.GlobalVar("f"))
    with pytest.raises(InputError, match="value is 3, expected a NameSupply, a module or a list"):
        GlobalVarSupply(3)
