// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Normalizations by the statistics of each row.

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_NORMOPS_TD
#define ONEFLOW_DIALECT_ONEFLOW_IR_NORMOPS_TD

include "oneflow/Dialect/OneFlow/IR/OneFlowBase.td"

// The dimensions from `axis` on are normalized; a row is all of them. The parameters
// have their shape, the statistics x's with those dimensions kept as 1.
class OneFlow_NormOp<string mnemonic, dag parameters, list<Trait> traits = []>
    : OneFlow_ComputeOp<mnemonic,
        !con((ins OneFlow_FloatTensor:$x), parameters,
             (ins I64Attr:$axis, F64Attr:$epsilon)),
        !listconcat(traits, [
          DeclareOpInterfaceMethods<InferTypeOpInterface>,
          DeclareOpInterfaceMethods<GradientOpInterface>])> {
  let hasVerifier = 1;
}

def OneFlow_LayerNormOp : OneFlow_NormOp<"layer_norm",
    (ins Optional<OneFlow_FloatTensor>:$scale, Optional<OneFlow_FloatTensor>:$bias),
    [AttrSizedOperandSegments]> {
  let summary = "each row less its mean, over its standard deviation";
  let description = [{
    `result = (x - mean) · inverse_deviation · scale + bias` over the dimensions from
    `axis` on, with `inverse_deviation = 1 / √(variance + epsilon)`. The variance is the
    mean of the squared differences from the mean, in a second pass. The statistics are
    f32 where x is narrower. Ba et al., arXiv 1607.06450. Split along a normalized
    dimension, it is decomposed into two reductions with P(sum).

    Constraints:
    1. norm_c1: axis is a dimension of x
    2. norm_c2: scale and bias have x's element type and the shape of the normalized
       dimensions
    3. norm_c3: epsilon is finite and not negative

    ```mlir
    %y, %mean, %inverse = oneflow.layer_norm %x scale %s bias %b dims_from 1
        {epsilon = 1.0e-5 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
        -> (tensor<8x4xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
    ```
  }];
  let results = (outs OneFlow_FloatTensor:$result, OneFlow_FloatTensor:$mean,
                      OneFlow_FloatTensor:$inverse_deviation);
  let assemblyFormat = [{
    $x (`scale` $scale^)? (`bias` $bias^)? `dims_from` $axis
    `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
}

def OneFlow_RmsNormOp : OneFlow_NormOp<"rms_norm",
    (ins Optional<OneFlow_FloatTensor>:$scale)> {
  let summary = "each row over its root mean square";
  let description = [{
    `result = x · inverse_rms · scale` over the dimensions from `axis` on, with
    `inverse_rms = 1 / √(mean of x² + epsilon)`, which is f32 where x is narrower. Zhang
    and Sennrich, arXiv 1910.07467. Split along a normalized dimension, it is decomposed
    into a reduction with P(sum).

    Constraints:
    1. norm_c1: axis is a dimension of x
    2. norm_c2: scale has x's element type and the shape of the normalized dimensions
    3. norm_c3: epsilon is finite and not negative

    ```mlir
    %y, %inverse = oneflow.rms_norm %x scale %s dims_from 1 {epsilon = 1.0e-5 : f64}
        : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<8x1xf32>)
    ```
  }];
  let results = (outs OneFlow_FloatTensor:$result, OneFlow_FloatTensor:$inverse_rms);
  let assemblyFormat = [{
    $x (`scale` $scale^)? `dims_from` $axis `` custom<Spread>($placement, $signature)
    attr-dict `:` functional-type(operands, results)
  }];
}

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_NORMOPS_TD
