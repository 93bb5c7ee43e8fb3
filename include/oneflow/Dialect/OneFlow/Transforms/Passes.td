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
    signature, is fixed already, is pinned, or is sharded along the packed dimension;
    where it is a part or the state of another. What shares
    a product with it stays, too. Ops that were one bear the same number,
    `oneflow.packed`, by which hints find all of them.

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

    A batch norm whose mean and variance are variables uses the batch's in `@train`,
    which moves the variables towards them:
    `running · momentum + batch · (1 - momentum)`. In `@eval` it uses the variables.
    One whose statistics are anything else stays as it is.
  }];
  let options = [
    Option<"entry", "entry", "std::string", "\"main\"", "function to start from">,
    Option<"output", "output", "std::string", "\"\"", "output that holds the logits">,
    Option<"loss", "loss", "std::string", "\"cross-entropy\"",
           "cross-entropy, or mean (the output itself is the loss, averaged)">,
  ];
}

def MixedPrecisionPass : Pass<"oneflow-mixed-precision", "::mlir::ModuleOp"> {
  let summary = "compute some ops in a low float type, the others in f32";
  let description = [{
    A list says what each op computes in: `low` ops in the type `type`, `high` ops in
    f32, and ops that `follow` in the type of their operands, in f32 where those differ.
    Variables keep their types: parameters of f32 are the masters that an optimizer
    updates. They and constants, and what is computed from them alone, have no say in
    what an op that follows computes in. Inputs and outputs keep their types, too, and
    so does f64; casts that the model has stay.

    By default, matmul is low; exp, log, sqrt, erf, softmax, log_softmax, cross_entropy,
    layer_norm, rms_norm and reduce are high; all others follow. `ops` changes entries.
    Every value has one type that it is computed in, and is cast from there at most once
    to each other type, a variable once per function.

    Before `--oneflow-differentiate`: the gradient of a cast is a cast, so gradients of
    parameters come out in f32.

    ```mlir
    %y = oneflow.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
    // becomes:
    %1 = oneflow.cast %x : (tensor<8x4xf32>) -> tensor<8x4xbf16>
    %2 = oneflow.cast %w : (tensor<4x3xf32>) -> tensor<4x3xbf16>
    %y = oneflow.matmul %1, %2 : (tensor<8x4xbf16>, tensor<4x3xbf16>) -> tensor<8x3xbf16>
    ```
  }];
  let dependentDialects = ["::oneflow::OneFlowDialect"];
  let options = [
    Option<"type", "type", "std::string", "\"bf16\"", "the low type: f32, bf16 or f16">,
    Option<"ops", "ops", "std::string", "\"\"",
           "changes of the list: op=low, op=high or op=follow, separated by commas">,
    Option<"train", "train", "std::string", "\"train\"",
           "the function, if there, whose parameters must be masters">,
  ];
}

def DifferentiatePass : Pass<"oneflow-differentiate", "::mlir::ModuleOp"> {
  let summary = "append the reverse-mode gradients of a loss";
  let description = [{
    For every trainable variable that the function reads, computes the gradient of the
    scalar output `loss` and appends an `oneflow.gradient`. A variable that the loss does
    not depend on gets zeros, with a remark.

    With `loss-scale`, gradients are those of the loss times `@optimizer.loss_scale`, an
    f32 scalar that begins with this value: small ones do not vanish in f16. See
    `--oneflow-unscale-gradients`.
  }];
  let options = [
    Option<"entry", "entry", "std::string", "\"train\"", "function to differentiate">,
    Option<"loss", "loss", "std::string", "\"loss\"", "name of the scalar output">,
    Option<"lossScale", "loss-scale", "double", "0",
           "initial value of the scale; 0 for none">,
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

def DecomposeBatchNormPass : Pass<"oneflow-decompose-batch-norm", "::mlir::ModuleOp"> {
  let summary = "turn batch norms into reductions and elementwise ops";
  let description = [{
    Every `oneflow.batch_norm` becomes the ops that it stands for, with the batch's
    statistics in training. After differentiation, which gives a better gradient to the
    whole; before spreading, which infers the parts' signatures: along a split batch the
    sums are P(sum), and every rank gets those of the whole batch. Reductions carry the
    node's location, and `oneflow.per_micro_batch` where the op says so.

    ```mlir
    %y, %m, %v = oneflow.batch_norm %x scale %s bias %b mean %rm variance %rv
        {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, training}
        : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
        -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
    // Begins as:
    %sum = oneflow.reduce <sum> %x dims [0] {keep_dims} : (tensor<8x4xf32>) -> tensor<1x4xf32>
    %mean = oneflow.div %sum, %count : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
    %centered = oneflow.sub %x, %mean : (tensor<8x4xf32>, tensor<1x4xf32>) -> tensor<8x4xf32>
    ```
  }];
}

def AssignStagesPass : Pass<"oneflow-assign-stages", "::mlir::ModuleOp"> {
  let summary = "cut the model into pipeline stages";
  let description = [{
    With an axis `pp` in `mesh`, cuts each entry into contiguous parts of about equal cost, one
    per stage and chunk, and puts part c on a placement `@stage<c>` of the remaining axes,
    whose ranks are those of stage c mod pp. Variables and inputs go where they are used
    first. `hints` fix parts: `PATTERN=c`. Runs before differentiation: the gradient
    of an op is computed where the op is. The module's `oneflow.schedule` says in which order
    the stages go through micro-batches.

    Without `pp` it does nothing.
  }];
  let dependentDialects = ["::oneflow::OneFlowDialect"];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"dp=1\"", "axes and sizes: pp=2,dp=2,tp=2">,
    Option<"device", "device", "std::string", "\"cpu\"", "cpu">,
    Option<"microBatches", "micro-batches", "int64_t", "1",
           "parts of the batch that a step takes one after the other">,
    Option<"pipeline", "schedule", "std::string", "\"1f1b\"",
           "gpipe, 1f1b, interleaved or zero-bubble">,
    Option<"chunks", "chunks", "int64_t", "1",
           "parts of the model per stage, for interleaved">,
    ListOption<"hints", "hints", "std::string", "PATTERN=STAGE">,
  ];
}

def UnscaleGradientsPass : Pass<"oneflow-unscale-gradients", "::mlir::ModuleOp"> {
  let summary = "let the optimizer see the gradients of the loss that was not scaled";
  let description = [{
    After `--oneflow-apply-optimizer`, where gradients are those of a loss times
    `@optimizer.loss_scale`: divides what the optimizer takes by the scale, in f32 at
    least, and lets a step happen only where every element of every gradient is finite;
    else each variable that the function updates, `@optimizer.step` included, stays as it
    was. All ranks agree on that: it is decided on whole gradients.

    With `dynamic`, a step that did not happen halves the scale, and `growth-interval`
    steps in a row that did double it. `@optimizer.good_steps`, an i64 scalar, counts
    them. The scale stays within 2^-126 and 2^126.
  }];
  let options = [
    Option<"dynamic", "dynamic", "bool", "true", "whether the scale changes">,
    Option<"growthInterval", "growth-interval", "int64_t", "2000",
           "finite steps in a row that double the scale">,
  ];
}

def PlacePass : Pass<"oneflow-place", "::mlir::ModuleOp"> {
  let summary = "put every op and variable that has no placement on one mesh";
  let description = [{
    Adds `oneflow.placement @mesh` from the options unless the module has a placement
    of that name; where a variable has it, the placement is `@mesh_0` or the like. Ops
    that are placed already stay where they are.
  }];
  let dependentDialects = ["::oneflow::OneFlowDialect"];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"dp=1\"", "axes and sizes: dp=2,tp=2">,
    Option<"device", "device", "std::string", "\"cpu\"", "cpu or cuda">,
    Option<"microBatches", "micro-batches", "int64_t", "1",
           "more than one: the size of a first axis `time`">,
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

    With `zero`, what training keeps is split along the axes that split inputs, and
    optimizer updates run on the parts: the state in stages 1 and 2, the parameters,
    too, in stage 3. All other signatures are those of stage 0, so that values are the
    same bits. In stage 3 the backward pass reads a parameter anew, so that its copies
    are gathered once for each direction.
  }];
  let options = [
    ListOption<"hints", "hints", "std::string",
               "PATTERN[:inN|:outN]=SBP@AXIS or =[SBP, ...]">,
    Option<"zero", "zero", "unsigned", "0",
           "ZeRO stage: 1 and 2 split optimizer state, 3 parameters, too">,
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
