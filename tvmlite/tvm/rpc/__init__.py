"""``tvm.rpc``: a session with this machine. Connections to other machines are not supported."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.core.span import Span
from tvmlite.tvm.absent import MissingName, refusing
from tvmlite.tvm.registry import get_global_func
from tvmlite.tvm.runtime.devices import AnyDevice, device
from tvmlite.tvm.runtime.loading import load_module
from tvmlite.tvm.runtime.module import Module

RPC_SESS_MASK = 128
"""TVM's mask for remote devices, of which there are none."""

_DEVICES = ("cl", "cuda", "ext_dev", "hexagon", "metal", "rocm", "vulkan", "webgpu")

__getattr__ = refusing(__name__)


class LocalSession:
    """A temporary folder and the devices of this machine, with the methods of a remote session. The folder is
    deleted together with the session."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tvmlite-session-")

    def upload(self, data: Any, target: str | None = None) -> None:
        """Copy the file ``data``, or write the bytes ``data``, to the session's file ``target``."""
        if isinstance(data, (bytes, bytearray)):
            if target is None:
                raise InputError("upload: target, the name for the bytes, must be given")
            self._place(target).write_bytes(data)
            return
        source = arguments.path("upload: data", data, InputError)
        if not source.is_file():
            raise InputError(f"upload: there is no file {str(source)!r}")
        shutil.copyfile(source, self._place(source.name if target is None else target))

    def download(self, path: str) -> bytearray:
        """Return the content of the session's file ``path``."""
        return bytearray(self._stored(path).read_bytes())

    def remove(self, path: str) -> None:
        """Delete the session's file ``path``."""
        self._stored(path).unlink()

    def load_module(self, path: str) -> Module:
        """Load the session's file ``path``, or an absolute path of this machine, like
        ``tvm.runtime.load_module``."""
        return load_module(path if Path(path).is_absolute() else self._place(path))

    def device(self, dev_type: str, dev_id: int = 0) -> AnyDevice:
        """Return a device of this machine."""
        return device(dev_type, dev_id)

    def cpu(self, dev_id: int = 0) -> AnyDevice:
        """Return the CPU."""
        return device("cpu", dev_id)

    def get_function(self, name: str) -> Callable[..., Any]:
        """Return the function registered as ``name``, like ``tvm.get_global_func``."""
        found = get_global_func(name)
        assert found is not None
        return found

    def __getattr__(self, name: str) -> Any:
        """Return other devices' constructors (``session.cuda(0)`` is ``tvm.cuda(0)``); else a MissingName."""
        if name in _DEVICES:
            return functools.partial(device, name)
        raise MissingName(
            f"LocalSession.{name} is not in tvmlite",
            Span.of_caller(),
            "load_module loads a file's library",
        )

    def _stored(self, name: str) -> Path:
        place = self._place(name)
        if not place.is_file():
            raise InputError(f"the session has no file {name!r}")
        return place

    def _place(self, name: str) -> Path:
        given = arguments.text("a file's name", name, InputError)
        if Path(given).name != given:
            raise InputError(f"a file of a session is a name without folders, not {given!r}")
        return Path(self._folder.name) / given
