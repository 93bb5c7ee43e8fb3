#!/usr/bin/env python3
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the handwritten-digits data set and a small classifier for it.

Into the output folder go

  digits_train.npz, digits_test.npz   `image` [N, 1, 8, 8], scaled to 0..1, and
                                      `labels` i64 [N]; the test set is a fifth,
                                      drawn per class (scikit-learn's digits,
                                      1797 samples)
  digits_mlp.onnx                     an untrained classifier, as PyTorch exports
                                      one: image [batch, 1, 8, 8] -> logits
                                      [batch, 10]

Everything is a function of the options; the same seed gives the same files.
"""

import argparse
import math
import os
import sys

import numpy as np
import onnx
from onnx import helper

from onnx_graph import DTYPES, GraphBuilder

IMAGE_SHAPE = (1, 8, 8)
CLASSES = 10
ACTIVATIONS = ("relu", "gelu", "tanh", "sigmoid")


def load_split(dtype, seed):
    """Returns (train, test) dicts with `image` and `labels`."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    images = (digits.images / 16.0).astype(dtype).reshape(-1, *IMAGE_SHAPE)
    labels = digits.target.astype(np.int64)
    train, test = train_test_split(
        np.arange(len(labels)), test_size=0.2, random_state=seed, stratify=labels
    )
    return tuple({"image": images[i], "labels": labels[i]} for i in (train, test))


class Classifier(GraphBuilder):
    """A stack of linear layers, as PyTorch names its nodes."""

    def linear(self, x, index, weight, output=None):
        """A Gemm with the weight as [out, in], and a zero bias."""
        names = [
            self.initializer(f"fc{index}.weight", weight),
            self.initializer(f"fc{index}.bias", np.zeros(weight.shape[0])),
        ]
        return self.node(
            "Gemm", [x, *names], f"/fc{index}", output, alpha=1.0, beta=1.0, transB=1
        )

    def activation(self, kind, x, index):
        scope = f"/act{index}"
        if kind == "gelu":
            # x / sqrt(2), erf, + 1, * x, * 0.5: the exact form, before opset 20.
            scaled = self.node("Div", [x, self.constant(math.sqrt(2.0), scope)], scope)
            erf = self.node("Erf", [scaled], scope)
            shifted = self.node("Add", [erf, self.constant(1.0, scope)], scope)
            product = self.node("Mul", [x, shifted], scope)
            return self.node("Mul", [product, self.constant(0.5, scope)], scope)
        return self.node(kind.capitalize(), [x], scope)


def build_mlp(hidden, activations, dtype_name, seed):
    """Returns the ModelProto of a classifier with the hidden widths given.

    `activations` are used in turn, from the first again when they run out. Weights
    are drawn after Kaiming (He et al. 2015): normal, variance 2 / inputs.
    """
    dtype, onnx_type = DTYPES[dtype_name]
    random = np.random.default_rng(seed)
    builder = Classifier(dtype)
    x = builder.node("Flatten", ["image"], "/flatten", axis=1)
    widths = [math.prod(IMAGE_SHAPE), *hidden, CLASSES]
    layers = len(widths) - 1
    for i in range(1, layers + 1):
        fan_in, fan_out = widths[i - 1], widths[i]
        weight = random.standard_normal((fan_out, fan_in)) * math.sqrt(2.0 / fan_in)
        x = builder.linear(x, i, weight, "logits" if i == layers else None)
        if i < layers:
            x = builder.activation(activations[(i - 1) % len(activations)], x, i)
    graph = helper.make_graph(
        builder.nodes,
        "main_graph",
        [helper.make_tensor_value_info("image", onnx_type, ["batch", *IMAGE_SHAPE])],
        [helper.make_tensor_value_info("logits", onnx_type, ["batch", CLASSES])],
        builder.initializers,
    )
    model = helper.make_model(
        graph,
        producer_name="oneflow-mlir digits.py",
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)],
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", default=".", metavar="DIR", help="where to write (default: here)")
    parser.add_argument("--seed", type=int, default=0, help="of the split and the weights (default 0)")
    parser.add_argument(
        "--hidden", type=int, nargs="*", default=[128, 64], metavar="N",
        help="widths of the hidden layers (default: 128 64)",
    )  # fmt: skip
    parser.add_argument(
        "--activation", nargs="+", choices=ACTIVATIONS, default=["relu", "gelu"],
        help="after the hidden layers, in turn (default: relu gelu)",
    )  # fmt: skip
    parser.add_argument(
        "--dtype", choices=sorted(DTYPES), default="f32", help="of images and weights (default f32)"
    )
    parser.add_argument(
        "--only", choices=["data", "model"], help="write the data or the model only"
    )
    return parser.parse_args(argv)


def main(argv=None):
    options = parse_arguments(argv)
    os.makedirs(options.output, exist_ok=True)
    if options.only != "model":
        splits = load_split(DTYPES[options.dtype][0], options.seed)
        for name, split in zip(("train", "test"), splits):
            path = os.path.join(options.output, f"digits_{name}.npz")
            np.savez(path, **split)
            print(f"{path}: {len(split['labels'])} samples")
    if options.only != "data":
        model = build_mlp(options.hidden, options.activation, options.dtype, options.seed)
        path = os.path.join(options.output, "digits_mlp.onnx")
        onnx.save(model, path)
        print(f"{path}: {len(model.graph.node)} nodes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
