"""The runtime, which runs compiled code and loads compiled libraries without the compiler."""

from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.library.library import Library
from tvmlite.runtime.library.load import load, load_module, read_metadata
from tvmlite.runtime.library.profile import Profile
from tvmlite.runtime.ndarray import NDArray
from tvmlite.runtime.pool.threads import num_threads, set_num_threads
from tvmlite.runtime.tensor import Tensor, empty, tensor
from tvmlite.runtime.timing import Timing

__all__ = [
    "CompiledFunction",
    "Library",
    "NDArray",
    "Profile",
    "Tensor",
    "Timing",
    "empty",
    "load",
    "load_module",
    "num_threads",
    "read_metadata",
    "set_num_threads",
    "tensor",
]
