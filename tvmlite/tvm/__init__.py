"""TVM's Python surface, as it was in TVM 0.11, over tvmlite's own objects.

::

    import tvmlite.tvm as tvm
    from tvmlite.tvm import relay, te

A program that says ``import tvm`` runs unchanged after ``sys.modules["tvm"] = tvmlite.tvm``: imports of
``tvm.relay`` and the like then give the modules of this package (``tvmlite.tvm.alias``).

A name's module is loaded when the name is first used. Names that tvmlite does not support (devices other than
the CPU, objects of TVM's foreign function interface, TVMScript) raise an error that says what to use instead.
"""

from tvmlite.tvm import lazy
from tvmlite.tvm.alias import install

install()

__version__ = "0.11.0"
"""The version of TVM whose Python surface this package has."""

__getattr__, __all__ = lazy.attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    """
        _ffi arith auto_scheduler autotvm container contrib driver error ir nd parser relay rpc runtime
        support target te testing tir topi transform
    """,
    {
        ".ir": "instrument",
        ".relay.expr": "GlobalVar",
        ".ir.module": "IRModule",
        ".error": "TVMError",
        ".driver.build_module": "build lower",
        ".runtime.convert": "const convert",
        ".runtime.data_type": "DataType DataTypeCode",
        ".runtime.devices": "context cpu cuda device ext_dev gpu hexagon metal opencl rocm vpi vulkan webgpu",
        ".registry": "get_global_func register_func",
        ".ir.json": "load_json save_json",
    },
)
