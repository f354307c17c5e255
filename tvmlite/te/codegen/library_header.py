"""The declarations and comments of a library's C interface for its header; ``library_ir`` defines it."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core.abi.signature import Signature
from tvmlite.te.codegen.c.generator import comment

_DLPACK = """/* DLPack's DLTensor. A program that has dlpack.h includes it before this header. */
#if !defined(DLPACK_DLPACK_H_) && !defined(TVMLITE_DLTENSOR)
#define TVMLITE_DLTENSOR 1
typedef struct {
    int32_t device_type; /* 1: the CPU */
    int32_t device_id;
} DLDevice;
typedef struct {
    uint8_t code; /* 0: int, 1: uint, 2: float, 4: bfloat, 6: bool */
    uint8_t bits;
    uint16_t lanes; /* 1 */
} DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; null: dense and row-major */
    uint64_t byte_offset;
} DLTensor;
#endif"""

_CODES = """#ifndef TVMLITE_CODES
#define TVMLITE_CODES 1
enum {
    TVMLITE_OK = 0,
    TVMLITE_WRONG_ARGUMENT = -1,  /* a number, or an array: its device, dtype, shape, strides, memory */
    TVMLITE_TOO_SMALL = -2,       /* the workspace */
    TVMLITE_NO_MEMORY = -3,       /* for a workspace of the library's own */
    TVMLITE_WRONG_PROCESSOR = -4  /* it lacks instructions that the library needs */
};
#endif"""


def declarations(signature: Signature, inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """The parts of a header that declare the interface of the model with this ``signature``; ``inputs`` and
    ``outputs`` are the names of its arrays."""
    name = signature.name
    ins = "const DLTensor *const *inputs, int32_t num_inputs"
    run = f"{ins},\n    DLTensor *const *outputs, int32_t num_outputs"
    found = ", ".join(p.name for p in signature.of_kind("found"))
    found_lines = [
        f"The extents of {found} come from the data: the shape is written, and the data is set to",
        "memory of the workspace, which holds until the thread's next call.",
    ]
    more = (
        ["If the data need more, the run reports how much."] if signature.of_kind("dynamic_outputs") else []
    )
    return [
        _DLPACK,
        _CODES,
        _declared(
            [
                f"Runs {name} on {len(inputs)} inputs and {len(outputs)} outputs, in this order:",
                "",
                f"inputs: {', '.join(inputs) or 'none'}",
                f"outputs: {', '.join(outputs) or 'none'}",
                "",
                "Each is checked before anything runs. Returns TVMLITE_OK; or a negative code as above; or",
                f"a positive one as of {name}, if the model rejects its data. {name}_last_error says what",
                "is wrong. Scratch memory is the calling thread's own, and kept until it ends. Any number",
                "of threads may call at once.",
                *(found_lines if found else []),
            ],
            f"int32_t {name}_run_tensors({run});",
        ),
        _declared(
            [
                "The same in the caller's scratch memory: *bytes from workspace on, which is a multiple of",
                "64 (null if *bytes is 0). If it is too small, the code is TVMLITE_TOO_SMALL, and *bytes is",
                "set to what is needed.",
            ],
            f"int32_t {name}_run_tensors_in({run},\n    void *workspace, int64_t *bytes);",
        ),
        _declared(
            [
                "The bytes of workspace for these inputs and the present number of threads, or a negative",
                "code.",
                *more,
            ],
            f"int64_t {name}_workspace_bytes({ins});",
        ),
        _declared(
            ["What went wrong in this thread's last call of a function above; empty if nothing did."],
            f"const char *{name}_last_error(void);",
        ),
        _declared(
            ["Names, shapes and dtypes, the version, and instruction sets that are needed, as JSON."],
            f"const char *{name}_metadata(void);",
        ),
        _declared(
            [
                "Which of the library's levels of processors runs here; null if none does. The environment",
                "variable TVMLITE_CPU_LEVEL chooses one.",
            ],
            f"const char *{name}_cpu_level(void);",
        ),
        _declared(
            [
                "How many threads the library's loops may use; 0: as many as the process has processors.",
                "Setting it waits for running calls of the functions above.",
            ],
            f"void {name}_set_num_threads(int32_t threads);\nint32_t {name}_num_threads(void);",
        ),
    ]


def _declared(lines: Sequence[str], prototypes: str) -> str:
    return f"{comment(lines)}\n{prototypes}"
