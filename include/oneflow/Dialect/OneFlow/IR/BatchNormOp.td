// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Batch normalization.

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_BATCHNORMOP_TD
#define ONEFLOW_DIALECT_ONEFLOW_IR_BATCHNORMOP_TD

include "oneflow/Dialect/OneFlow/IR/OneFlowBase.td"

def OneFlow_BatchNormOp : OneFlow_Op<"batch_norm",
    [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "each channel less its mean, over its standard deviation";
  let description = [{
    `result = (x - mean) / √(variance + epsilon) · scale + bias` for each channel, which
    dimension 1 counts. With `training`, mean and variance are those of the batch: over
    all other dimensions, the variance as the mean of the squared differences from the
    mean, in a second pass. Else they are the operands. The results `batch_mean` and
    `batch_variance` are those that were used, in f32 where x is narrower. Ioffe and
    Szegedy, arXiv 1502.03167.

    The op stands for what it is decomposed into before the graph is spread
    (--oneflow-decompose-batch-norm), so it has no signature: the batch may be split, with
    the statistics of all of it as P(sum), and the channels. `momentum` is what
    --oneflow-attach-loss keeps of the running statistics in a step. `per_micro_batch`
    allows statistics of less than the whole batch, where it comes in parts one after
    the other; the reductions of the decomposition carry it as
    `oneflow.per_micro_batch`.

    Constraints:
    1. batch_norm_c1: x has at least 2 dimensions
    2. batch_norm_c2: scale, bias, mean and variance have one element for each channel
    3. batch_norm_c3: epsilon is finite and not negative, momentum in [0, 1]

    ```mlir
    %y, %m, %v = oneflow.batch_norm %x scale %s bias %b mean %rm variance %rv
        {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, training}
        : (tensor<8x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
        -> (tensor<8x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins OneFlow_FloatTensor:$x, OneFlow_FloatTensor:$scale,
                       OneFlow_FloatTensor:$bias, OneFlow_FloatTensor:$mean,
                       OneFlow_FloatTensor:$variance, F64Attr:$epsilon,
                       F64Attr:$momentum, UnitAttr:$training,
                       UnitAttr:$per_micro_batch);
  let results = (outs OneFlow_FloatTensor:$result, OneFlow_FloatTensor:$batch_mean,
                      OneFlow_FloatTensor:$batch_variance);
  let assemblyFormat = [{
    $x `scale` $scale `bias` $bias `mean` $mean `variance` $variance attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The ops that it stands for, at the builder's insertion point; one value per
    /// result. Requires static extents.
    ::llvm::SmallVector<::mlir::Value> decompose(::mlir::OpBuilder &builder);
  }];
}

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_BATCHNORMOP_TD
