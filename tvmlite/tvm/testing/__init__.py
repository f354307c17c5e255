"""``tvm.testing``: comparisons, and helpers that mark tests and parametrize them by target."""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.extras import how_to_install
from tvmlite.machine.target import Target
from tvmlite.tvm.absent import lookup
from tvmlite.tvm.arith import Analyzer
from tvmlite.tvm.runtime.devices import AnyDevice, device
from tvmlite.tvm.runtime.module import enabled
from tvmlite.tvm.testing.gradients import check_numerical_grads as check_numerical_grads

_TARGETS = ("llvm",)
"""The default targets of tests."""


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raise an AssertionError if shapes differ, or values by more than ``atol + rtol * abs(desired)``."""
    actual, desired = np.asarray(actual), np.asarray(desired)
    np.testing.assert_allclose(actual.shape, desired.shape)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)


def assert_prim_expr_equal(lhs: Any, rhs: Any) -> None:
    """Raise an AssertionError unless two expressions are provably equal."""
    assert Analyzer().can_prove_equal(lhs, rhs), f"{lhs} and {rhs} are not known to be equal"


def device_enabled(target: Any) -> bool:
    """Whether tests for ``target`` can run: true for CPU targets."""
    return enabled(str(target))


def enabled_targets() -> list[tuple[str, AnyDevice]]:
    """Return the targets for which tests run, each with its device."""
    return [(name, device(name)) for name in _TARGETS]


def _pytest() -> Any:
    try:
        import pytest
    except ImportError:
        raise UnsupportedError("tvm.testing needs pytest for this", hint=how_to_install("test")) from None
    return pytest


def _unless(feature: str, present: bool) -> Callable[..., Any]:
    """Return a decorator for tests that need ``feature``: they are skipped unless it is ``present``."""

    def mark(*functions: Any) -> Any:
        skip = _pytest().mark.skipif(
            not present, reason=f"{feature} is not there: tests run on this machine's CPU"
        )
        if functions and callable(functions[0]):
            return skip(functions[0])
        return [skip] if not functions else skip

    mark.__name__ = f"requires_{feature}"
    mark.__doc__ = f"Skips a test that needs {feature}."
    return mark


requires_llvm = _unless("llvm", True)
requires_cblas = requires_cblas_or_numpy = _unless("cblas", True)

_INSTRUCTION_SETS = {
    "x86": "sse2",
    "x86_avx512": "avx512bw",
    "x86_vnni": "avx512vnni",
    "x86_amx": "amx-int8",
    "skylake_avx512": "avx512bw",
    "cascadelake": "avx512vnni",
    "arm_dot": "dotprod",
    "aarch64_sve": "sve",
}
"""Processors that tests can require, each with one of its instruction sets."""


def __getattr__(name: str) -> Any:
    """Return names that are computed. ``requires_<processor>`` skips a test unless this machine has its
    instructions; any other undefined ``requires_<feature>`` always skips it. ``uses_gpu`` and similar have no
    effect: the test runs on the CPU."""
    if name.startswith("requires_"):
        feature = name.removeprefix("requires_")
        instructions = _INSTRUCTION_SETS.get(feature)
        return _unless(feature, instructions is not None and Target.parse("native").has(instructions))
    if name.startswith("uses_"):
        return lambda *functions: functions[0] if functions else (lambda function: function)
    if name == "slow":
        return lambda function: function
    if name == "skip_if_32bit":
        return lambda reason="": _pytest().mark.skipif(sys.maxsize < 2**32, reason=reason)
    if name in ("auto_scheduler", "autotvm", "plugin"):
        return importlib.import_module(f"{__name__}.{name}")
    return lookup(__name__, name)


def requires_package(*packages: str) -> Any:
    """Decorator that skips a test unless all ``packages`` can be imported."""

    def there(package: str) -> bool:
        try:
            __import__(package)
        except ImportError:
            return False
        return True

    missing = [one for one in packages if not there(one)]
    return _pytest().mark.skipif(bool(missing), reason=f"missing: {', '.join(missing)}")


def parametrize_targets(*args: Any) -> Any:
    """Decorator that runs a test with ``target`` and ``dev`` for each given target that is a CPU."""
    if len(args) == 1 and callable(args[0]):
        return _over_targets(_TARGETS)(args[0])
    names = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return _over_targets(names or _TARGETS)


def _over_targets(names: Sequence[Any]) -> Callable[[Any], Any]:
    """Return a decorator that runs a test for each of ``names``, passing ``dev`` only if it takes one."""
    pytest = _pytest()

    def mark(test: Any) -> Any:
        with_device = inspect.isclass(test) or "dev" in inspect.signature(test).parameters
        rows = [
            pytest.param(
                *((name, device(str(name))) if with_device else (name,)),
                id=str(name),
                marks=() if device_enabled(name) else pytest.mark.skip(reason=f"{name} is no CPU"),
            )
            for name in names
        ]
        return pytest.mark.parametrize(("target", "dev") if with_device else ("target",), rows)(test)

    return mark


def exclude_targets(*_: str) -> Any:
    """Return a decorator without effect: tests run for CPUs only."""
    return lambda function: function


known_failing_targets = exclude_targets


def parameter(*values: Any, ids: Any = None, by_dict: dict[str, Any] | None = None) -> Any:
    """Return a fixture with the values ``values``."""
    if by_dict:
        ids, values = list(by_dict), tuple(by_dict.values())

    def value(request: Any) -> Any:
        return request.param

    return _pytest().fixture(_as_method(value) if _in_class() else value, params=values, ids=ids)


def _in_class() -> bool:
    """Whether the caller's caller is a class body, whose functions take ``self`` first."""
    return "__qualname__" in sys._getframe(2).f_locals


def _as_method(function: Any) -> Any:
    """Convert the fixture ``function`` to a method; pytest passes the arguments that its signature names."""

    def method(self: Any, **given: Any) -> Any:
        return function(**given)

    names = list(inspect.signature(function).parameters)
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    others = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    method.__signature__ = inspect.Signature([first, *others])  # type: ignore[attr-defined]
    return method


def parameters(*rows: Sequence[Any], ids: Any = None) -> list[Any]:
    """Return fixtures, one for each column of ``rows``, that take the values of the same row."""
    module = sys._getframe(1).f_globals
    number = next(_numbers)
    shared = f"_tvm_testing_row_{number}"
    in_class = _in_class()

    @_pytest().fixture(params=range(len(rows)), ids=ids, name=shared)
    def row(request: Any) -> Any:
        return rows[request.param]

    module[shared] = row

    def column(position: int) -> Any:
        def value(**given: Any) -> Any:
            return given[shared][position]

        only = inspect.Parameter(shared, inspect.Parameter.KEYWORD_ONLY)
        value.__signature__ = inspect.Signature([only])  # type: ignore[attr-defined]
        return _pytest().fixture(_as_method(value) if in_class else value)

    return [column(position) for position in range(len(rows[0]))]


_numbers = itertools.count()


def fixture(function: Any = None, *, cache_return_value: bool = False) -> Any:
    """Decorator for a pytest fixture; ``cache_return_value`` has no effect."""
    if function is None:
        return functools.partial(fixture, cache_return_value=cache_return_value)
    return _pytest().fixture(function)


def install_request_hook(depth: int) -> None:
    """Do nothing. TVM's tutorials call it first, but it only affects TVM's own servers; ``depth`` is the
    depth of a tutorial's folder below TVM's sources."""


def main() -> None:
    """Run the tests in the file of the caller."""
    sys.exit(_pytest().main([sys._getframe(1).f_globals["__file__"], *sys.argv[1:]]))
