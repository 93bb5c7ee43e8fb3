#!/usr/bin/env python3
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the handwritten-digits data set and small classifiers for it.

Into the output folder go

  digits_train.npz, digits_test.npz   `image` [N, 1, 8, 8], scaled to 0..1, and
                                      `labels` i64 [N]; the test set is a fifth,
                                      drawn per class (scikit-learn's digits,
                                      1797 samples)
  digits_mlp.onnx                     an untrained classifier, as PyTorch exports
                                      one: image [batch, 1, 8, 8] -> logits
                                      [batch, 10]
  digits_cnn.onnx                     with --model cnn, a residual network instead:
                                      convolutions, each with a batch norm in its
                                      inference form, and a mean over the image

Everything is a function of the options; the same seed gives the same files.
"""

import argparse
import math
import os
import sys

try:
    import numpy as np
    import onnx
    from onnx import helper

    from onnx_graph import DTYPES, GraphBuilder
except ImportError as missing:
    raise SystemExit(
        f"error: the Python package '{missing.name}' is not installed: tools/setup.sh puts it into "
        ".venv, run .venv/bin/python; or pip install -r python/requirements.txt"
    ) from None

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


class ResidualNetwork(Classifier):
    """Residual blocks after He et al. (2015), as PyTorch names nodes and weights."""

    def __init__(self, dtype, random):
        super().__init__(dtype)
        self.random = random

    def convolution(self, x, scope, inputs, outputs, size, stride):
        """A convolution without a bias, and a batch norm, which has one."""
        path = "/" + scope.replace(".", "/")
        shape = (outputs, inputs, size, size)
        weight = self.random.standard_normal(shape) * math.sqrt(2.0 / (inputs * size * size))
        x = self.node(
            "Conv", [x, self.initializer(f"{scope}.conv.weight", weight)], f"{path}/conv",
            kernel_shape=[size] * 2, strides=[stride] * 2, pads=[size // 2] * 4,
            dilations=[1, 1], group=1,
        )  # fmt: skip
        statistics = {"weight": np.ones, "bias": np.zeros, "running_mean": np.zeros,
                      "running_var": np.ones}  # fmt: skip
        names = [
            self.initializer(f"{scope}.bn.{name}", make(outputs))
            for name, make in statistics.items()
        ]
        return self.node(
            "BatchNormalization", [x, *names], f"{path}/bn", epsilon=1e-5, momentum=0.9,
            training_mode=0,
        )  # fmt: skip

    def block(self, x, index, inputs, outputs):
        """Two convolutions beside a shortcut; one that widens also halves the image."""
        scope = f"layer{index}"
        stride = 1 if inputs == outputs else 2
        y = self.convolution(x, f"{scope}.0", inputs, outputs, 3, stride)
        y = self.node("Relu", [y], f"/{scope}/relu")
        y = self.convolution(y, f"{scope}.1", outputs, outputs, 3, 1)
        if inputs != outputs:
            x = self.convolution(x, f"{scope}.shortcut", inputs, outputs, 1, stride)
        return self.node("Relu", [self.node("Add", [y, x], f"/{scope}")], f"/{scope}/relu")


def build_cnn(channels, dtype_name, seed):
    """Returns the ModelProto of a residual network with one block for each number of
    `channels`, behind a convolution to the first.
    """
    dtype, _ = DTYPES[dtype_name]
    builder = ResidualNetwork(dtype, np.random.default_rng(seed))
    x = builder.convolution("image", "stem", IMAGE_SHAPE[0], channels[0], 3, 1)
    x = builder.node("Relu", [x], "/stem/relu")
    for index, (inputs, outputs) in enumerate(zip([channels[0], *channels], channels), 1):
        x = builder.block(x, index, inputs, outputs)
    x = builder.node("GlobalAveragePool", [x], "/pool")
    x = builder.node("Flatten", [x], "/flatten", axis=1)
    weight = builder.random.standard_normal((CLASSES, channels[-1])) / math.sqrt(channels[-1])
    builder.linear(x, "", weight, "logits")
    return finish(builder, dtype_name)


def build_mlp(hidden, activations, dtype_name, seed):
    """Returns the ModelProto of a classifier with the hidden widths given.

    `activations` are used in turn, from the first again when they run out. Weights
    are drawn after Kaiming (He et al. 2015): normal, variance 2 / inputs.
    """
    dtype, _ = DTYPES[dtype_name]
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
    return finish(builder, dtype_name)


def finish(builder, dtype_name):
    """The model of a classifier's nodes, from "image" to "logits"."""
    _, onnx_type = DTYPES[dtype_name]
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
        "--model", choices=["mlp", "cnn"], default="mlp",
        help="linear layers, or a residual network of convolutions (default mlp)",
    )  # fmt: skip
    parser.add_argument(
        "--channels", type=int, nargs="+", default=[16, 32], metavar="N",
        help="of the blocks of the residual network (default: 16 32)",
    )  # fmt: skip
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
        if options.model == "cnn":
            model = build_cnn(options.channels, options.dtype, options.seed)
        else:
            model = build_mlp(options.hidden, options.activation, options.dtype, options.seed)
        path = os.path.join(options.output, f"digits_{options.model}.onnx")
        onnx.save(model, path)
        print(f"{path}: {len(model.graph.node)} nodes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
