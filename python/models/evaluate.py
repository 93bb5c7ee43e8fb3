#!/usr/bin/env python3
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run an ONNX classifier with onnxruntime and judge the result.

The .npz holds the model's inputs by name, one row per sample, and `labels`. The
first output of the model (or --output) is taken as class scores. Prints one JSON
document; with --compare also how far the scores lie from those of another .npz,
and with --max-abs or --max-rel exits with 1 when they lie too far.

  evaluate.py digits_mlp.onnx digits_test.npz
  evaluate.py trained.onnx digits_test.npz --compare logits.npz --max-abs 1e-5
"""

import argparse
import json
import sys

import numpy as np
import onnxruntime


def run_model(session, data, batch):
    """Returns the model's outputs by name, for all samples.

    A model with a fixed leading extent is run batch by batch, the last one filled
    up with zeros.
    """
    names = [output.name for output in session.get_outputs()]
    inputs = {}
    for value in session.get_inputs():
        if value.name not in data:
            raise SystemExit(f"error: the data has no '{value.name}', it has: {sorted(data)}")
        inputs[value.name] = data[value.name]
        if value.shape and isinstance(value.shape[0], int):
            batch = value.shape[0]
    samples = len(next(iter(inputs.values())))
    pieces = []
    for begin in range(0, samples, batch or samples):
        rows = {name: array[begin : begin + (batch or samples)] for name, array in inputs.items()}
        count = len(next(iter(rows.values())))
        if batch and count < batch:
            rows = {
                name: np.concatenate([array, np.zeros((batch - count, *array.shape[1:]), array.dtype)])
                for name, array in rows.items()
            }
        pieces.append([array[:count] for array in session.run(names, rows)])
    return {name: np.concatenate([piece[i] for piece in pieces]) for i, name in enumerate(names)}


def accuracy(scores, labels):
    return float(np.mean(np.argmax(scores, axis=1) == labels.reshape(-1)))


def compare(scores, other):
    """Differences of `other` from `scores`.

    The relative difference of an element is taken against the larger of the two
    magnitudes; where both are below 1e-6 of the largest score, it says nothing and
    is left out.
    """
    if scores.shape != other.shape:
        raise SystemExit(f"error: expected scores of shape {scores.shape}, got: {other.shape}")
    a, b = scores.astype(np.float64), other.astype(np.float64)
    difference = np.abs(a - b)
    size = np.maximum(np.abs(a), np.abs(b))
    counted = size > 1e-6 * size.max() if size.size else size > 0
    relative = difference[counted] / size[counted]
    return {
        "max_abs_diff": float(difference.max(initial=0.0)),
        "max_rel_diff": float(relative.max(initial=0.0)),
        "prediction_agreement": float(np.mean(np.argmax(a, axis=1) == np.argmax(b, axis=1))),
    }


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="the ONNX file")
    parser.add_argument("data", help="the .npz with inputs and labels")
    parser.add_argument("--labels", default="labels", help="key of the labels (default: labels)")
    parser.add_argument("--output", help="the model's output with the scores (default: its first)")
    parser.add_argument("--batch", type=int, help="samples per run (default: all)")
    parser.add_argument("--save", metavar="NPZ", help="write the outputs and `predictions`")
    parser.add_argument("--compare", metavar="NPZ", help="scores to compare with")
    parser.add_argument(
        "--key", help="the tensor of --compare (default: the output's name, or the only one)"
    )
    parser.add_argument("--max-abs", type=float, help="fail above this absolute difference")
    parser.add_argument("--max-rel", type=float, help="fail above this relative difference")
    return parser.parse_args(argv)


def main(argv=None):
    options = parse_arguments(argv)
    session = onnxruntime.InferenceSession(options.model, providers=["CPUExecutionProvider"])
    with np.load(options.data) as file:
        data = dict(file)
    outputs = run_model(session, data, options.batch)
    name = options.output or session.get_outputs()[0].name
    if name not in outputs:
        raise SystemExit(f"error: the model has no output '{name}', it has: {sorted(outputs)}")
    scores = outputs[name]
    report = {"model": options.model, "samples": len(scores)}
    if options.labels in data:
        report["accuracy"] = accuracy(scores, data[options.labels])
    if options.save:
        np.savez(options.save, predictions=np.argmax(scores, axis=1), **outputs)
    failed = False
    if options.compare:
        with np.load(options.compare) as file:
            key = options.key or (name if name in file.files else file.files[0])
            if key not in file.files or (not options.key and key != name and len(file.files) > 1):
                raise SystemExit(f"error: '{options.compare}' has no '{key}', it has: {file.files}")
            report.update(compare(scores, file[key]))
        # Written so that NaN fails, too.
        if options.max_abs is not None:
            failed |= not report["max_abs_diff"] <= options.max_abs
        if options.max_rel is not None:
            failed |= not report["max_rel_diff"] <= options.max_rel
    print(json.dumps(report, indent=2))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
