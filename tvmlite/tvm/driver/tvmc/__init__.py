"""TVM's ``tvmc``: load, tune, compile and run a model, as functions and as a command.

::

    from tvm.driver import tvmc

    model = tvmc.load("model.onnx")
    package = tvmc.compile(model, target="llvm", package_path="model.tar")
    print(tvmc.run(package, device="cpu"))
"""

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    """
    autotuner common compiler config_options frontends main model pass_config registry runner shape_parser
    target transform
    """,
    {
        ".common": "TVMCException TVMCImportError",
        ".model": "TVMCModel TVMCPackage TVMCResult load=load_model",
        ".compiler": "compile=compile_model",
        ".runner": "run=run_module",
        ".autotuner": "tune=tune_model",
    },
)
