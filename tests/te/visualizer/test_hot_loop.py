"""Finding the innermost hot loop in assembly."""

from __future__ import annotations

import textwrap

from tvmlite.te.visualizer.hot_loop import hot_loop

ASSEMBLY = textwrap.dedent(
    """\
    main:                                   # @main
    # %bb.0:
    \tvxorps\t%xmm0, %xmm0, %xmm0
    .LBB0_1:                                # %outer
                                            # =>This Loop Header: Depth=1
                                            #     Child Loop BB0_2 Depth 2
    \txorl\t%eax, %eax
    .LBB0_2:                                # %inner
                                            #   Parent Loop BB0_1 Depth=1
                                            # =>  This Inner Loop Header: Depth=2
    \tvmovups\t(%rsp), %zmm1                   # 64-byte Reload
    \tvfmadd231ps\t(%rdi), %zmm1, %zmm0       # zmm0 = (zmm1 * mem) + zmm0
    \tvaddps\t%zmm0, %zmm1, %zmm0
    \tcmpq\t$4, %rax
    \tjne\t.LBB0_2
    # %bb.3:
    \tjne\t.LBB0_1
    .LBB0_4:                                # =>This Inner Loop Header: Depth=1
    \tincq\t%rax
    \tjne\t.LBB0_4
    \tretq
    .Lfunc_end0:
    """
)


def test_the_deepest_loop_that_computes_is_found_and_counted() -> None:
    hot = hot_loop(ASSEMBLY)

    assert (hot.depth, hot.instructions, hot.fused, hot.spills) == (2, 5, 1, 1)
    assert hot.text.splitlines()[0] == ".LBB0_2:"
    assert hot.text.splitlines()[-1].split() == ["jne", ".LBB0_2"]


def test_long_loops_are_truncated_but_counted() -> None:
    hot = hot_loop(ASSEMBLY, most=2)

    assert hot.text.splitlines()[-1] == "        ... 4 more lines"
    assert hot.instructions == 5


def test_a_function_without_a_loop_is_shown_from_its_beginning() -> None:
    hot = hot_loop("main:\n\tvaddps\t%zmm0, %zmm1, %zmm0\n\tretq\n.Lfunc_end0:\n")

    assert (hot.depth, hot.instructions, hot.fused) == (0, 2, 0)
    assert "vaddps" in hot.text
