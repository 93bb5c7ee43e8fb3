#!/usr/bin/env python3
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write an untrained decoder-only transformer and tokens to train it on.

Into the output folder go

  transformer.onnx   tokens i64 [batch, sequence] -> logits [batch, sequence,
                     vocabulary], pre-norm blocks as GPT-2 has them (Radford et al.
                     2019): h.N.ln_1, h.N.attn.c_attn (q, k and v in one weight),
                     h.N.attn.c_proj, h.N.ln_2, h.N.mlp.c_fc, h.N.mlp.c_proj
  tokens.npz         `tokens` and `labels` i64 [samples, sequence]: sequences of a
                     random walk over the vocabulary, each label the next token

Everything is a function of the options; the same seed gives the same files. Tensor
parallelism needs two hints for each layer, sequence parallelism two more:

  --sbp 'h.*.attn.c_attn.weight=S(1)@tp' --sbp 'h.*.mlp.c_fc.weight=S(1)@tp'
  --sbp '/h.*/ln_1/*=S(1)@tp' --sbp '/h.*/ln_2/*=S(1)@tp'
"""

import argparse
import math
import os
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper

    from onnx_graph import DTYPES, GraphBuilder
except ImportError as missing:
    raise SystemExit(
        f"error: the Python package '{missing.name}' is not installed: tools/setup.sh puts it into "
        ".venv, run .venv/bin/python; or pip install -r python/requirements.txt"
    ) from None


class Transformer(GraphBuilder):
    """Blocks of attention and perceptrons, as PyTorch names their nodes."""

    def __init__(self, options):
        dtype, self.onnx_type = DTYPES[options.dtype]
        super().__init__(dtype)
        self.options = options
        self.random = np.random.default_rng(options.seed)

    def weight(self, name, *shape, deviation=0.02):
        return self.initializer(name, self.random.standard_normal(shape) * deviation)

    def filled(self, name, value, *shape):
        return self.initializer(name, np.full(shape, value))

    def linear(self, x, scope, inputs, outputs, deviation=0.02):
        """x · W + b with W as [inputs, outputs]."""
        name = scope[1:].replace("/", ".")
        weight = self.weight(f"{name}.weight", inputs, outputs, deviation=deviation)
        bias = self.filled(f"{name}.bias", 0, outputs)
        product = self.node("MatMul", [x, weight], scope)
        return self.node("Add", [product, bias], scope)

    def norm(self, x, scope):
        name = scope[1:].replace("/", ".")
        width = self.options.hidden
        inputs = [x, self.filled(f"{name}.weight", 1, width)]
        if self.options.norm == "rms":
            return self.node("RMSNormalization", inputs, scope, axis=-1, epsilon=1e-5)
        inputs.append(self.filled(f"{name}.bias", 0, width))
        return self.node("LayerNormalization", inputs, scope, axis=-1, epsilon=1e-5)

    def dropout(self, x, scope):
        if not self.options.dropout:
            return x
        ratio = self.constant(self.options.dropout, scope, np.float32)
        training = self.constant(True, scope, np.bool_)
        return self.node("Dropout", [x, ratio, training], scope)

    def heads(self, x, scope, permutation):
        """[batch, sequence, hidden] by heads, its dimensions permuted."""
        heads, width = self.options.heads, self.options.hidden // self.options.heads
        shape = self.constant([0, self.options.sequence, heads, width], scope, np.int64)
        split = self.node("Reshape", [x, shape], scope)
        return self.node("Transpose", [split], scope, perm=permutation)

    def attention(self, x, scope, deviation):
        hidden, sequence = self.options.hidden, self.options.sequence
        if self.options.packed:
            packed = self.linear(x, f"{scope}/c_attn", hidden, 3 * hidden)
            q, k, v = self.node("Split", [packed], scope, outputs=3, axis=2, num_outputs=3)
        else:
            q, k, v = (self.linear(x, f"{scope}/{part}", hidden, hidden) for part in "qkv")
        q = self.heads(q, scope, [0, 2, 1, 3])
        k = self.heads(k, scope, [0, 2, 3, 1])
        v = self.heads(v, scope, [0, 2, 1, 3])
        scores = self.node("MatMul", [q, k], scope)
        scale = self.constant(1 / math.sqrt(hidden // self.options.heads), scope)
        scores = self.node("Mul", [scores, scale], scope)
        # What comes later in the sequence is not seen.
        mask = self.constant(np.tri(sequence, dtype=bool).reshape(1, 1, sequence, sequence),
                             scope, np.bool_)  # fmt: skip
        hidden_score = self.constant(-1e9, scope)
        scores = self.node("Where", [mask, scores, hidden_score], scope)
        weights = self.dropout(self.node("Softmax", [scores], scope, axis=-1), scope)
        mixed = self.node("MatMul", [weights, v], scope)
        mixed = self.node("Transpose", [mixed], scope, perm=[0, 2, 1, 3])
        shape = self.constant([0, sequence, hidden], scope, np.int64)
        mixed = self.node("Reshape", [mixed, shape], scope)
        return self.linear(mixed, f"{scope}/c_proj", hidden, hidden, deviation)

    def mlp(self, x, scope, deviation):
        hidden = self.options.hidden
        x = self.linear(x, f"{scope}/c_fc", hidden, 4 * hidden)
        x = self.node("Gelu", [x], scope, approximate="tanh")
        return self.linear(x, f"{scope}/c_proj", 4 * hidden, hidden, deviation)

    def block(self, x, scope):
        # The deeper, the smaller the part of each block (Radford et al. 2019).
        deviation = 0.02 / math.sqrt(2 * self.options.layers)
        mixed = self.attention(self.norm(x, f"{scope}/ln_1"), f"{scope}/attn", deviation)
        x = self.node("Add", [x, self.dropout(mixed, f"{scope}/attn/drop")], scope)
        grown = self.mlp(self.norm(x, f"{scope}/ln_2"), f"{scope}/mlp", deviation)
        return self.node("Add", [x, self.dropout(grown, f"{scope}/mlp/drop")], scope)

    def build(self):
        hidden, sequence = self.options.hidden, self.options.sequence
        vocabulary = self.options.vocabulary
        wte = self.weight("wte.weight", vocabulary, hidden)
        wpe = self.weight("wpe.weight", sequence, hidden, deviation=0.01)
        x = self.node("Gather", [wte, "tokens"], "/wte", axis=0)
        x = self.node("Add", [x, wpe], "/wpe")
        x = self.dropout(x, "/drop")
        for layer in range(self.options.layers):
            x = self.block(x, f"/h.{layer}")
        x = self.norm(x, "/ln_f")
        if self.options.tied:
            head = self.node("Transpose", [wte], "/lm_head", perm=[1, 0])
        else:
            head = self.weight("lm_head.weight", hidden, vocabulary)
        self.node("MatMul", [x, head], "/lm_head", "logits")
        graph = helper.make_graph(
            self.nodes,
            "main_graph",
            [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", sequence])],
            [helper.make_tensor_value_info("logits", self.onnx_type,
                                           ["batch", sequence, vocabulary])],
            self.initializers,
        )  # fmt: skip
        opset = 23 if self.options.norm == "rms" else 20
        model = helper.make_model(
            graph,
            producer_name="oneflow-mlir transformer.py",
            ir_version=10 if opset < 23 else 11,
            opset_imports=[helper.make_opsetid("", opset)],
        )
        onnx.checker.check_model(model, full_check=True)
        return model


def make_tokens(options):
    """A walk over a ring of tokens: one step on, or a jump one time in eight."""
    random = np.random.default_rng(options.seed + 1)
    length = options.sequence + 1
    steps = np.where(random.random((options.samples, length)) < 7 / 8, 1,
                     random.integers(0, options.vocabulary, (options.samples, length)))  # fmt: skip
    walk = np.cumsum(steps, axis=1) % options.vocabulary
    return {"tokens": walk[:, :-1].astype(np.int64), "labels": walk[:, 1:].astype(np.int64)}


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--output", default=".", metavar="DIR", help="where to write (default: here)")
    add("--seed", type=int, default=0, help="of the weights and tokens (default 0)")
    add("--layers", type=int, default=2, help="blocks (default 2)")
    add("--hidden", type=int, default=64, help="width (default 64)")
    add("--heads", type=int, default=4, help="attention heads (default 4)")
    add("--sequence", type=int, default=32, help="tokens of a sample (default 32)")
    add("--vocabulary", type=int, default=64, help="different tokens (default 64)")
    add("--samples", type=int, default=1024, help="sequences to train on (default 1024)")
    add("--norm", choices=["layer", "rms"], default="layer", help="(default layer)")
    add("--dropout", type=float, default=0.0, help="ratio (default 0)")
    add("--separate", dest="packed", action="store_false", help="q, k and v as three weights")
    add("--tied", action="store_true", help="the embedding is the output's weight, too")
    add("--dtype", choices=sorted(DTYPES), default="f32", help="of the weights (default f32)")
    options = parser.parse_args(argv)
    if options.hidden % options.heads:
        parser.error(f"--heads {options.heads} does not divide --hidden {options.hidden}")
    return options


def main(argv=None):
    options = parse_arguments(argv)
    os.makedirs(options.output, exist_ok=True)
    path = os.path.join(options.output, "tokens.npz")
    np.savez(path, **make_tokens(options))
    print(f"{path}: {options.samples} samples")
    model = Transformer(options).build()
    path = os.path.join(options.output, "transformer.onnx")
    onnx.save(model, path)
    print(f"{path}: {len(model.graph.node)} nodes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
