#!/usr/bin/env python3
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run an ONNX classifier or language model with onnxruntime and judge the result.

The .npz holds the model's inputs by name, one row per sample, and `labels`. The
first output of the model (or --output) is taken as class scores, [samples, classes]
or, with a label for each position of a sequence, [samples, positions, classes]. Prints
one JSON document: the accuracy, the mean cross-entropy as `loss` (scores taken as
logits) and, for sequences, its exponential as `perplexity`; with --compare also how
far the scores lie from those of another .npz, and with --max-abs or --max-rel exits
with 1 when they lie too far.

  evaluate.py digits_mlp.onnx digits_test.npz
  evaluate.py trained.onnx digits_test.npz --compare logits.npz --max-abs 1e-5
"""

import argparse
import json
import sys

try:
    import numpy as np
    import onnxruntime
except ImportError as missing:
    raise SystemExit(
        f"error: the Python package '{missing.name}' is not installed: tools/setup.sh puts it into "
        ".venv, run .venv/bin/python; or pip install -r python/requirements.txt"
    ) from None


def load_tensors(path):
    """The tensors of an .npz by name."""
    try:
        with np.load(path) as file:
            return dict(file)
    except (OSError, ValueError, TypeError) as reason:
        # A single array, of an .npy, is no context manager.
        raise SystemExit(f"error: '{path}' is no .npz that can be read: {reason}") from None


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
        try:
            results = session.run(names, rows)
        except Exception as reason:  # onnxruntime's own types have no common base
            raise SystemExit(f"error: the model cannot run on this data: {reason}") from None
        pieces.append([array[:count] for array in results])
    return {name: np.concatenate([piece[i] for piece in pieces]) for i, name in enumerate(names)}


def judge(scores, labels):
    """Accuracy, and the mean cross-entropy with the scores as logits."""
    if scores.ndim < 2 or not np.issubdtype(scores.dtype, np.floating):
        raise SystemExit(
            "error: expected class scores [samples, ..., classes], got an output of "
            f"{scores.dtype} {list(scores.shape)}; --output chooses another"
        )
    if not np.issubdtype(labels.dtype, np.integer) or labels.size != scores[..., 0].size:
        raise SystemExit(
            f"error: expected integer labels of shape {list(scores.shape[:-1])} for scores of "
            f"shape {list(scores.shape)}, got: {labels.dtype} {list(labels.shape)}"
        )
    labels = labels.reshape(-1)
    rows = scores.reshape(-1, scores.shape[-1])
    report = {"accuracy": float(np.mean(np.argmax(rows, axis=1) == labels))}
    if not labels.size or labels.min() < 0 or labels.max() >= rows.shape[1]:
        # Nothing can be scored against a class that there is not.
        return report
    rows = rows.astype(np.float64)
    rows -= rows.max(axis=1, keepdims=True)
    picked = rows[np.arange(len(rows)), labels]
    report["loss"] = float(np.mean(np.log(np.exp(rows).sum(axis=1)) - picked))
    if scores.ndim > 2:
        report["perplexity"] = float(np.exp(report["loss"]))
    return report


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
        "prediction_agreement": float(np.mean(np.argmax(a, axis=-1) == np.argmax(b, axis=-1))),
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
    try:
        session = onnxruntime.InferenceSession(options.model, providers=["CPUExecutionProvider"])
    except Exception as reason:  # onnxruntime's own types have no common base
        raise SystemExit(f"error: cannot load the model '{options.model}': {reason}") from None
    data = load_tensors(options.data)
    outputs = run_model(session, data, options.batch)
    name = options.output or session.get_outputs()[0].name
    if name not in outputs:
        raise SystemExit(f"error: the model has no output '{name}', it has: {sorted(outputs)}")
    scores = outputs[name]
    report = {"model": options.model, "samples": len(scores)}
    if options.labels in data:
        report.update(judge(scores, data[options.labels]))
    if options.save:
        np.savez(options.save, predictions=np.argmax(scores, axis=-1), **outputs)
    failed = False
    if options.compare:
        file = load_tensors(options.compare)
        key = options.key or (name if name in file else next(iter(file), name))
        if key not in file or (not options.key and key != name and len(file) > 1):
            raise SystemExit(
                f"error: '{options.compare}' has no '{options.key or name}', it has: {list(file)}"
            )
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
