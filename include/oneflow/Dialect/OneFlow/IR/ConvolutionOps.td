// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Convolution and its gradients.

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_CONVOLUTIONOPS_TD
#define ONEFLOW_DIALECT_ONEFLOW_IR_CONVOLUTIONOPS_TD

include "oneflow/Dialect/OneFlow/IR/OneFlowBase.td"

// The three ops are linear in both operands, and each is the gradient of the other
// two. `result_extents` are the spatial extents of the result, where the operands do
// not give them.
class OneFlow_ConvolutionLikeOp<string mnemonic, dag operands, dag extents = (ins)>
    : OneFlow_ComputeOp<mnemonic,
        !con(operands, (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low,
                            DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$dilations,
                            I64Attr:$groups), extents),
        [SameOperandsAndResultElementType,
         DeclareOpInterfaceMethods<InferTypeOpInterface>,
         DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let results = (outs OneFlow_FloatTensor:$result);
}

defvar OneFlow_ConvolutionAttributes = [{
    `strides` $strides `low` $low `high` $high `dilations` $dilations `groups` $groups
}];

def OneFlow_ConvolutionOp : OneFlow_ConvolutionLikeOp<"convolution",
    (ins OneFlow_FloatTensor:$x, OneFlow_FloatTensor:$weight)> {
  let summary = "convolution over any number of spatial dimensions";
  let description = [{
    `(n ci d..), (co ci k..) -> (n co o..)`: with x extended by `low` zeros before and
    `high` behind each spatial dimension,
    `result[n, co, o] = Σ x[n, ci, o · stride + k · dilation] · weight[co, ci, k]`. With
    `groups`, the channels on both sides fall into as many groups, and a result channel
    sees its own group's: weight has `ci / groups` channels. f16 and bf16 accumulate in
    f32. What is called convolution here is, as usual, a cross-correlation.

    The batch may be split, and of one group the channels: those of the result, or
    those of x with P(sum). Spatial dimensions and channels in groups may not.

    Constraints:
    1. convolution_c1: both operands have the same rank, at least 3, and each list one
       number for every spatial dimension
    2. convolution_c2: strides, dilations and groups are at least 1, low and high at
       least 0, and all of them below 2^31
    3. convolution_c3: groups divides the channels of x and of the result, and weight
       has as many channels as a group of x
    4. convolution_c4: the window is not empty and fits in the extended x

    ```mlir
    %2 = oneflow.convolution %0, %1 strides [1, 1] low [1, 1] high [1, 1]
        dilations [1, 1] groups 1
        : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
    ```
  }];
  let assemblyFormat = !strconcat("$x `,` $weight", OneFlow_ConvolutionAttributes, [{
    `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }]);
}

def OneFlow_ConvolutionGradInputOp : OneFlow_ConvolutionLikeOp<
    "convolution_grad_input",
    (ins OneFlow_FloatTensor:$dy, OneFlow_FloatTensor:$weight),
    (ins DenseI64ArrayAttr:$extents)> {
  let summary = "gradient of a convolution with respect to its input";
  let description = [{
    `(n co o..), (co ci k..) -> (n ci d..)`: the gradient of `oneflow.convolution` with
    the same attributes whose x has the spatial extents `extents`.

    Constraints: those of `oneflow.convolution`, and
    1. convolution_c5: one extent for each spatial dimension, at least 0
    2. convolution_c6: dy is of the type of what is differentiated

    ```mlir
    %2 = oneflow.convolution_grad_input %0, %1 strides [2] low [1] high [1]
        dilations [1] groups 1 extents [8]
        : (tensor<2x4x4xf32>, tensor<4x3x3xf32>) -> tensor<2x3x8xf32>
    ```
  }];
  let assemblyFormat = !strconcat("$dy `,` $weight", OneFlow_ConvolutionAttributes, [{
    `extents` $extents `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }]);
}

def OneFlow_ConvolutionGradWeightOp : OneFlow_ConvolutionLikeOp<
    "convolution_grad_weight",
    (ins OneFlow_FloatTensor:$x, OneFlow_FloatTensor:$dy),
    (ins DenseI64ArrayAttr:$extents)> {
  let summary = "gradient of a convolution with respect to its weight";
  let description = [{
    `(n ci d..), (n co o..) -> (co ci k..)`: the gradient of `oneflow.convolution` with
    the same attributes whose weight has the spatial extents `extents`. Along a split
    batch the result is P(sum).

    Constraints: those of `oneflow.convolution`, and
    1. convolution_c5: one extent for each spatial dimension, at least 0
    2. convolution_c6: dy is of the type of what is differentiated

    ```mlir
    %2 = oneflow.convolution_grad_weight %0, %1 strides [2] low [1] high [1]
        dilations [1] groups 1 extents [3]
        : (tensor<2x3x8xf32>, tensor<2x4x4xf32>) -> tensor<4x3x3xf32>
    ```
  }];
  let assemblyFormat = !strconcat("$x `,` $dy", OneFlow_ConvolutionAttributes, [{
    `extents` $extents `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }]);
}

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_CONVOLUTIONOPS_TD
