"""The instruction sets that LLVM may use on a processor.

Run as a module (``python -m tvmlite.machine.processor triple cpu features``) it prints them on one line.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache

import llvmlite.binding as llvm

from tvmlite.core.errors import TargetError
from tvmlite.machine import amx
from tvmlite.machine.target import family
from tvmlite.machine.triple import Triple

_INSTRUCTION_SETS = {
    "x86": (
        "sse2 sse3 ssse3 sse4.1 sse4.2 avx avx2 fma f16c bmi bmi2 lzcnt popcnt avx512f avx512bw avx512cd "
        "avx512dq avx512vl avx512vbmi avx512vbmi2 avx512ifma avx512vnni avx512bf16 avx512fp16 avx512bitalg "
        "avx512vpopcntdq avxvnni avxvnniint8 amx-tile amx-int8 amx-bf16 amx-fp16 gfni"
    ).split(),
    "aarch64": "neon fp-armv8 fullfp16 fp16fml dotprod bf16 i8mm sve sve2 sme".split(),
    "arm": "neon vfp2 vfp3 vfp4 fp-armv8 fullfp16 dotprod bf16 i8mm mve mve.fp".split(),
    "riscv": "m a f d c v zfh zvfh zba zbb".split(),
    "wasm": "simd128 relaxed-simd".split(),
}


@cache
def host() -> tuple[str, str, tuple[str, ...]]:
    """Triple and processor of this machine, and its features that differ from LLVM's for that processor.

    (A hypervisor may hide instructions that the processor of this name has.)
    """
    triple, cpu = llvm.get_process_triple(), llvm.get_host_cpu_name()
    detected = dict(llvm.get_host_cpu_features())
    if detected.get("amx-tile") and not amx.request_tiles():
        detected |= {name: False for name in detected if name.startswith("amx-")}
    usual = query(triple, cpu, ())
    differing = sorted(
        ("+" if detected[name] else "-") + name
        for name in _INSTRUCTION_SETS.get(family(triple), ())
        if name in detected and detected[name] != (name in usual)
    )
    return triple, cpu, tuple(differing)


def describe(triple: str, cpu: str, features: tuple[str, ...]) -> frozenset[str]:
    """The instruction sets of a processor; a TargetError for a triple or processor that LLVM does not know.

    LLVM is queried in a child process unless the processor is this machine's own: it ends the process on
    an invalid combination, and reports unknown names on stderr only.
    """
    own_triple, own_cpu, own_features = host()
    if (triple, cpu) == (own_triple, own_cpu) and features in ((), own_features):
        return query(triple, cpu, features)
    return _query_in_child(triple, cpu, features)


@cache
def _query_in_child(triple: str, cpu: str, features: tuple[str, ...]) -> frozenset[str]:
    run = subprocess.run(
        [sys.executable, "-m", "tvmlite.machine.processor", triple, cpu, ",".join(features)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=False,
    )
    messages = run.stderr.strip().splitlines()
    if unknown := [line for line in messages if "is not a recognized" in line]:
        raise TargetError(f"LLVM for {triple}: {unknown[0].split(' for this target')[0]}")
    if run.returncode != 0:
        reason = messages[-1] if messages else f"exit code {run.returncode}"
        raise TargetError(f"LLVM cannot compile for triple {triple!r}, processor {cpu!r}: {reason}")
    return frozenset(run.stdout.split())


@cache
def query(triple: str, cpu: str, features: tuple[str, ...]) -> frozenset[str]:
    """The instruction sets of a processor, by a query to LLVM in this process.

    LLVM has no API for this, but it inlines a function only if the caller has all the callee's
    features: compile a function that calls one function per instruction set, and see which calls remain.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple, names = Triple.parse(triple).normalized, _INSTRUCTION_SETS.get(family(triple), ())
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu, ",".join(features), opt=2, reloc="pic", codemodel="small"
    )
    text = [f'target triple = "{triple}"', "@mark = external global i32"]
    for number, name in enumerate(names):
        needs = ",".join((*features, f"+{name}"))
        text.append(f'define internal void @needs{number}() "target-features"="{needs}" {{')
        text.append(f"  store volatile i32 {number}, ptr @mark\n  ret void\n}}")
    text.append("define void @processor() {")
    text.extend(f"  call void @needs{number}()" for number in range(len(names)))
    text.append("  ret void\n}\n")
    module = llvm.parse_assembly("\n".join(text))
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    builder.getModulePassManager().run(module, builder)
    missing = {int(number) for number in re.findall(r"call .*@needs(\d+)", str(module))}
    return frozenset(name for number, name in enumerate(names) if number not in missing)


def main(arguments: list[str]) -> None:
    """Print the instruction sets of the processor named by triple, cpu and features."""
    triple, cpu, features = arguments
    print(*sorted(query(triple, cpu, tuple(f for f in features.split(",") if f))))


if __name__ == "__main__":
    main(sys.argv[1:])
