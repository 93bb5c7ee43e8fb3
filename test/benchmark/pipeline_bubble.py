# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the bubbles of all pipeline schedules, with chains that sleep.

For each case one line: the schedule, stages, micro-batches, the measured bubble, its closed
form (docs/schedules.md), and the step's time over that of the closed form. Needs
oneflow-compile and PipelineBubble of a build folder; run it on a machine that does nothing else.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parents[2] / "python" / "models"


def closed_form(schedule, stages, count, chunks):
    waiting = stages - 1
    if schedule == "zero-bubble":
        # ZB-H1 with passes of equal length; with few micro-batches there is less to fill with.
        return waiting / (3 * count) if count >= stages else (2 * stages - 1 - count) / (3 * count)
    return waiting / (chunks * count)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", type=pathlib.Path, help="build folder")
    parser.add_argument("--unit", type=float, default=6, help="milliseconds of a third of a pass")
    parser.add_argument("--stages", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--micro-batches", type=int, nargs="+", default=[4, 8, 16, 32])
    options = parser.parse_args()
    unit = options.unit
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.executable, MODELS / "transformer.py", "--output", folder, "--layers",
                        "8", "--hidden", "8", "--heads", "2", "--sequence", "4", "--vocabulary",
                        "16", "--samples", "32"], check=True, stdout=subprocess.DEVNULL)
        print("schedule\tstages\tmicro_batches\tbubble\tclosed_form\tstep_over_closed_form")
        for schedule in ("gpipe", "1f1b", "interleaved", "zero-bubble"):
            for stages in options.stages:
                for count in options.micro_batches:
                    chunks = 2 if schedule == "interleaved" else 1
                    if schedule == "interleaved" and count % stages:
                        continue
                    plan = folder / "plan.ofp"
                    subprocess.run([options.build / "bin" / "oneflow-compile",
                                    folder / "transformer.onnx", "--dim", "batch=32", "--train",
                                    "--mesh", f"pp={stages}", "--micro-batches", str(count),
                                    "--schedule", schedule, "-o", plan], check=True)
                    passes = ([unit, unit, unit] if schedule == "zero-bubble"
                              else [unit, 2 * unit, 0])
                    result = json.loads(subprocess.run(
                        [options.build / "bin" / "PipelineBubble", plan, str(count), str(chunks),
                         *map(str, passes)], check=True, capture_output=True, text=True).stdout)
                    expected = closed_form(schedule, stages, count, chunks)
                    ratio = (1 + result["bubble"]) / (1 + expected)
                    print(f"{schedule}\t{stages}\t{count}\t{result['bubble']:.4f}\t{expected:.4f}"
                          f"\t{ratio:.4f}", flush=True)


if __name__ == "__main__":
    main()
