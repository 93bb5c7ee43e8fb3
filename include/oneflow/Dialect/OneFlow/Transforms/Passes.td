// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Passes inside the logical dialect, in the order of the pipeline.

#ifndef ONEFLOW_DIALECT_ONEFLOW_TRANSFORMS_PASSES_TD
#define ONEFLOW_DIALECT_ONEFLOW_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def InferShapesPass : Pass<"oneflow-infer-shapes", "::mlir::ModuleOp"> {
  let summary = "propagate static shapes from inputs and variables to all results";
  let description = [{
    Infers every result type anew from its operands and puts it in place where it says
    more than before. What stays dynamic is an error: everything after this pass needs
    static logical shapes.
  }];
}

def ConvertToInferencePass : Pass<"oneflow-convert-to-inference", "::mlir::ModuleOp"> {
  let summary = "remove what only training needs";
  let description = [{
    Dropout without a step is the identity and goes. Functions that update a variable
    are left alone.
  }];
}

def UnpackVariablesPass : Pass<"oneflow-unpack-variables", "::mlir::ModuleOp"> {
  let summary = "give every projection of a packed one its own variables";
  let description = [{
    Exporters pack several projections, such as query, key and value, into one matrix
    [h, 3h], which no plain split of its columns divides by heads. Where all that is
    done with a matmul's result, after bias adds, reshapes and transposes, is to cut the
    packed dimension into intervals, equal ones or not, each interval gets its own
    matmul, and weight and bias become variables `<name>.0`, `<name>.1`, ..., each
    `part of` the variable that was: the user goes on seeing that one. Weights may
    be stored transposed. Values are what they were before.

    A variable stays whole where it is used otherwise, also by one of its readers only;
    where cuts overlap, leave gaps or differ among uses; where its storage, or an op's
    signature, is fixed already; where it is a part or the state of another. What shares
    a product with it stays, too.

    ```mlir
    %w = oneflow.read @w : tensor<4x12xf32>
    %y = oneflow.matmul %x, %w : (tensor<8x4xf32>, tensor<4x12xf32>) -> tensor<8x12xf32>
    // Three slices of 4 columns become:
    oneflow.variable @w.0 part of "w" [4, 12] at dim 1 offset 0 : tensor<4x4xf32>
    %w0 = oneflow.read @w.0 : tensor<4x4xf32>
    %q = oneflow.matmul %x, %w0 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    ```
  }];
}

def AttachLossPass : Pass<"oneflow-attach-loss", "::mlir::ModuleOp"> {
  let summary = "make a training function with a loss from an inference function";
  let description = [{
    Clones `entry` as `@train` and renames the original to `@eval`. In `@train`, the
    output `output` (the first when empty) feeds the loss, whose mean over the whole
    batch becomes the output "loss"; the function's other outputs are dropped. A
    softmax or log-softmax at the end of the graph is looked through:
    cross-entropy wants logits. Class labels are the new input "labels". Dropout gets
    its step: the variable `@optimizer.step`, which counts the steps begun, from 1.
  }];
  let options = [
    Option<"entry", "entry", "std::string", "\"main\"", "function to start from">,
    Option<"output", "output", "std::string", "\"\"", "output that holds the logits">,
    Option<"loss", "loss", "std::string", "\"cross-entropy\"",
           "cross-entropy, or mean (the output itself is the loss, averaged)">,
  ];
}

def DifferentiatePass : Pass<"oneflow-differentiate", "::mlir::ModuleOp"> {
  let summary = "append the reverse-mode gradients of a loss";
  let description = [{
    For every trainable variable that the function reads, computes the gradient of the
    scalar output `loss` and appends an `oneflow.gradient`. A variable that the loss does
    not depend on gets zeros, with a remark.
  }];
  let options = [
    Option<"entry", "entry", "std::string", "\"train\"", "function to differentiate">,
    Option<"loss", "loss", "std::string", "\"loss\"", "name of the scalar output">,
  ];
}

def ApplyOptimizerPass : Pass<"oneflow-apply-optimizer", "::mlir::ModuleOp"> {
  let summary = "turn gradients into updates of variables";
  let description = [{
    Replaces every `oneflow.gradient` by the optimizer's update and adds its state as
    variables: `<name>.velocity` for sgd, `<name>.first_moment` and
    `<name>.second_moment` for adamw, each `like` its parameter, besides
    `@optimizer.learning_rate` (a scalar of the parameters' type, so that a schedule can
    change it between steps) and `@optimizer.step`. With `none`, gradients become outputs
    "<name>.gradient". State of a part is a part of the whole's state, and gradients of
    parts come out as the whole's.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "adamw, sgd or none">,
    Option<"learningRate", "learning-rate", "double", "1e-3", "initial learning rate">,
    Option<"momentum", "momentum", "double", "0.9", "of sgd">,
    Option<"beta1", "beta1", "double", "0.9", "of adamw">,
    Option<"beta2", "beta2", "double", "0.999", "of adamw">,
    Option<"epsilon", "epsilon", "double", "1e-8", "of adamw">,
    Option<"weightDecay", "weight-decay", "double", "1e-2",
           "decay of the parameters, decoupled in adamw">,
  ];
}

def PlacePass : Pass<"oneflow-place", "::mlir::ModuleOp"> {
  let summary = "put every op and variable that has no placement on one mesh";
  let description = [{
    Adds `oneflow.placement @mesh` from the options unless the module has a placement
    of that name. Ops that are placed already stay where they are.
  }];
  let dependentDialects = ["::oneflow::OneFlowDialect"];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"dp=1\"", "axes and sizes: dp=2,tp=2">,
    Option<"device", "device", "std::string", "\"cpu\"", "cpu or cuda">,
  ];
}

def InferSbpPass : Pass<"oneflow-infer-sbp", "::mlir::ModuleOp"> {
  let summary = "choose the SBP signature of every op";
  let description = [{
    Signatures and storages that ops and variables carry already are pinned, and so is
    what the attributes `oneflow.sbp` and `oneflow.sharding` say, which are removed when
    signatures are written. `hints` pin more: each is `PATTERN=SBP@AXIS`, or
    `PATTERN=[SBP, ...]` with one SBP, or `?`, per mesh axis. PATTERN is a name with `*`
    and `?`, matched against variables (how they are stored), inputs, and the node names
    of other ops (their first result); with `:inN` or `:outN` behind it, it is the
    operands or results of nodes. Commas within brackets do not separate hints. Inputs
    that nothing pins are split along dimension 0 on an axis named `dp` where that is
    legal, variables are whole along an axis that splits inputs, and optimizer state lies
    as its parameter. The rest, storages included, is chosen for the whole module, one
    mesh axis after the other, so that computation and boxing together take the least
    time by the cost model (see oneflow/Sbp/Selection.h). What is pinned is never
    changed: where a tensor or an op does not allow it, the error says what they allow.
  }];
  let options = [
    ListOption<"hints", "hints", "std::string",
               "PATTERN[:inN|:outN]=SBP@AXIS or =[SBP, ...]">,
    Option<"explain", "explain", "bool", "false",
           "print a remark per op: what was chosen, and why">,
  ];
}

def DecomposeSplitPass : Pass<"oneflow-decompose-split", "::mlir::ModuleOp"> {
  let summary = "decompose ops whose own dimension is split";
  let description = [{
    A softmax, log-softmax, cross-entropy, layer norm or RMS norm that runs over a
    dimension which is split along some axis becomes reductions, elementwise ops and
    picks, each with the signature that follows: maxima come as P(max), sums as P(sum);
    what is reduced is not gathered.
  }];
}

def InsertBoxingPass : Pass<"oneflow-insert-boxing", "::mlir::ModuleOp"> {
  let summary = "bring every operand to the SBP that its op wants";
  let description = [{
    Between a producer and a consumer whose SBPs or placements differ, inserts
    `oneflow.boxing` ops: one per step that the algebra plans (oneflow/Sbp/Boxing.h),
    within its bounds of memory and bytes. Steps before an exchange across run on the
    producer's placement, those behind it on the consumer's. Values that several
    consumers want in the same SBP are boxed once, and so are common beginnings. A
    boxing that is there already is replaced by its steps where it has several.
  }];
  let options = [
    Option<"explain", "explain", "bool", "false",
           "remark on every boxed operand: its way, bytes, time, and the bounds">
  ];
}

def VerifySpreadPass : Pass<"oneflow-verify-spread", "::mlir::ModuleOp"> {
  let summary = "phase gate: every op is placed, signed and fed as it wants";
  let description = [{
    Errors, at the op and its source: an op without placement or signature, a
    signature that the op's rule does not allow for its shapes, an op that still
    needs decomposition, an operand whose SBP is not its producer's, a read or update
    that differs from its variable's storage, parts that do not tile their whole.
  }];
}

#endif // ONEFLOW_DIALECT_ONEFLOW_TRANSFORMS_PASSES_TD
