"""The errors that users may get: each names the cause and ends with the line of the user's code."""

from __future__ import annotations

from tvmlite.core.span import Span


class TvmliteError(RuntimeError):
    """A mistake in the user's input; the message names the cause, what was given and what was expected.

    ``span`` is where the cause was written (a Python line or an ONNX node); ``hint`` suggests a
    remedy. Bugs of tvmlite itself are found by ``assert`` and never raise this class.
    """

    def __init__(self, message: str, span: Span | None = None, hint: str | None = None) -> None:
        self.message = message
        self.span = span
        self.hint = hint
        text = message
        if span is not None:
            text += f"\n  at {span}"
        if hint is not None:
            text += f"\n  hint: {hint}"
        super().__init__(text)


class CallError(TvmliteError):
    """A mistake in the call itself: ``span`` defaults to the line of the user's code that made the call."""

    def __init__(self, message: str, span: Span | None = None, hint: str | None = None) -> None:
        super().__init__(message, span or Span.of_caller(), hint)


class UnsupportedError(TvmliteError, NotImplementedError):
    """A legal request that tvmlite does not support (yet): an operator, a dtype, a target."""


class TargetError(CallError, ValueError):
    """A target string that does not describe a machine tvmlite can compile for."""


class ConfigError(CallError, ValueError):
    """A ``TVMLITE_*`` variable or an option with an unusable value."""


class ScheduleError(TvmliteError, ValueError):
    """A schedule primitive applied where it is not legal; names the primitive and the axis."""


class TensorExpressionError(TvmliteError, ValueError):
    """A tensor expression that has no meaning: wrong rank, wrong dtype, an unbound variable."""


class VerifyError(TvmliteError, ValueError):
    """An ill-formed IR, found by a verifier between two passes."""


class TypeInferError(CallError, TypeError):
    """A relay expression whose argument types do not fit its operator."""


class ParseError(TvmliteError, ValueError):
    """Malformed Relay text (or a malformed tuning record); names line and column."""


class ModelError(TvmliteError, ValueError):
    """A model file that cannot be read: truncated, in another format, inconsistent, or unsafe."""


class InputError(CallError, ValueError):
    """An argument of a compiled function with a wrong name, shape, dtype or count."""


class BeyondMemory(InputError):
    """A request for more memory than the machine has."""


class LibraryError(CallError, RuntimeError):
    """A compiled library that cannot be loaded, exported or linked."""


class ExecutionError(TvmliteError, RuntimeError):
    """A compiled function that rejected its data while running (an index out of range, say)."""
