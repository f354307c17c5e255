from tvmlite.relay.ir.nodes import Function, Module, constant, var
from tvmlite.relay.passes.graph_pass import graph_pass, map_functions

x = var("x", (2,))


def test_a_function_on_bodies_becomes_a_pass_over_every_function() -> None:
    one = constant(1)

    @graph_pass
    def to_one(body):
        """Replace each body by one."""
        return one

    module = to_one(Module({"main": Function((x,), x), "other": Function((), one)}, ("y",)))

    assert to_one.__name__ == "to_one"
    assert module["main"].body is one
    assert module.output_names == ("y",)
    assert to_one(module) is module


def test_unchanged_functions_are_the_same_objects() -> None:
    module = Module({"main": Function((x,), x), "other": Function((), constant(1))})
    changed = map_functions(module, lambda body: constant(2) if body is not x else body)

    assert changed["main"] is module["main"]
    assert changed["other"] is not module["other"]
