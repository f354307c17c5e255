"""Run standalone C on microcontrollers emulated by QEMU: does its self-test pass, and how many instructions
does it run?

Instructions are counted by QEMU's clock: with ``-icount shift=0`` each instruction takes a nanosecond, and
the processor's timer (SysTick) ticks every ``1e9 / hertz`` instructions. No plugin is needed.

    arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb ... --specs=rdimon.specs net.c main.c -o net.elf
    qemu-system-arm -M mps2-an386 -icount shift=0 -semihosting-config enable=on,target=native -kernel net.elf
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

COMPILER, EMULATOR = "arm-none-eabi-gcc", "qemu-system-arm"


@dataclass(frozen=True)
class Board:
    """A machine of QEMU, the ticks per second of its timer, and the options for the compiler."""

    machine: str
    hertz: int
    flags: tuple[str, ...]


BOARDS = {
    "cortex-m3": Board("mps2-an385", 25_000_000, ("-mcpu=cortex-m3", "-mfloat-abi=soft")),
    "cortex-m4": Board(
        "mps2-an386", 25_000_000, ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
    ),
    "cortex-m7": Board(
        "mps2-an500", 25_000_000, ("-mcpu=cortex-m7", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard")
    ),
    "cortex-m55": Board("mps3-an547", 32_000_000, ("-mcpu=cortex-m55", "-mfloat-abi=hard")),
}
"""The boards by processor."""

_MAIN = """#define main self_test
#include "{name}_test.c"
#undef main

#include <stdio.h>

extern void _start(void);
void boot(void);
const void *const vectors[2] __attribute__((section(".vectors"), used)) = {{(const void *)0x20300000, boot}};

/* The unit for floats and vectors is off at first. */
void __attribute__((naked)) boot(void) {{
    __asm__("ldr r0, =0xE000ED88\\n ldr r1, [r0]\\n orr r1, r1, #0xF00000\\n str r1, [r0]\\n"
            "dsb\\n isb\\n b _start");
}}

int main(void) {{
    volatile uint32_t *const timer = (volatile uint32_t *)0xE000E010;
    uint32_t begin, ticks;
    int code;
    timer[1] = 0xFFFFFF;
    timer[2] = 0;
    timer[0] = 5;
    begin = timer[2];
    code = {call};
    ticks = (begin - timer[2]) & 0xFFFFFF;
    ticks |= timer[0] & 0x10000 ? 0x80000000u : 0u;
    printf("%d %lu\\n", code != 0 ? code : self_test(), (unsigned long)ticks);
    return 0;
}}
"""

_TOO_LONG = 0x80000000
"""The number of ticks that stands for an overflow of the timer, which has 24 bits."""


def missing() -> list[str]:
    """The required programs that are not installed."""
    return [name for name in (COMPILER, EMULATOR) if shutil.which(name) is None]


def compiled(folder: Path, cpu: str, *words: str, name: str = "net") -> Path:
    """Compile a program that runs the exported model ``folder / NAME.c`` once, and then its self-test;
    ``words`` are options for the compiler."""
    manifest = json.loads((folder / "manifest.json").read_text())
    given = [f"input1_{k}" for k in range(len(manifest["inputs"]))]
    given += [f"made{k}" for k in range(len(manifest["outputs"]))]
    main, program = folder / "counted.c", folder / f"{name}.elf"
    main.write_text(_MAIN.format(name=name, call=f"{manifest['entry']}({', '.join(given)})"))
    linked = ["--specs=rdimon.specs", "-Wl,--section-start=.vectors=0"]
    command = [COMPILER, "-mthumb", "-std=c99", *BOARDS[cpu].flags, *words, *linked, f"-I{folder}"]
    subprocess.run([*command, str(folder / f"{name}.c"), str(main), "-o", str(program), "-lm"], check=True)
    return program


def run(program: Path, cpu: str, seconds: float = 300) -> tuple[int, int]:
    """The exit code of the self-test (0: passed), and the number of instructions of one run of the model."""
    semihosting = ["-semihosting-config", "enable=on,target=native"]
    quiet = ["-monitor", "none", "-serial", "none", "-display", "none"]
    command = [EMULATOR, "-M", BOARDS[cpu].machine, *quiet, "-icount", "shift=0", *semihosting]
    done = subprocess.run(
        [*command, "-kernel", str(program)], capture_output=True, text=True, timeout=seconds, check=True
    )
    code, ticks = map(int, done.stdout.split())
    if ticks >= _TOO_LONG:
        raise OverflowError(f"{program.name} runs for longer than the timer counts")
    return code, ticks * 1_000_000_000 // BOARDS[cpu].hertz


def code_size(source: Path, cpu: str, words: Sequence[str]) -> int:
    """The size of the code and constants compiled from ``source``, in bytes."""
    made = source.with_suffix(".o")
    command = [
        COMPILER,
        "-mthumb",
        "-std=c99",
        *BOARDS[cpu].flags,
        *words,
        "-c",
        str(source),
        "-o",
        str(made),
    ]
    subprocess.run(command, check=True)
    listed = subprocess.run(
        ["arm-none-eabi-size", str(made)], check=True, capture_output=True, text=True
    ).stdout
    return int(listed.splitlines()[1].split()[0])
