// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Pooling: a number for each window of a tensor.

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_POOLOPS_TD
#define ONEFLOW_DIALECT_ONEFLOW_IR_POOLOPS_TD

include "oneflow/Dialect/OneFlow/IR/OneFlowBase.td"

// Windows slide over the last dimensions, as many as the lists have numbers; the
// others may be split.
class OneFlow_WindowOp<string mnemonic, dag operands, dag extents, list<Trait> traits>
    : OneFlow_ComputeOp<mnemonic,
        !con(operands, (ins DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                            DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                            DenseI64ArrayAttr:$dilations), extents),
        !listconcat(traits, [DeclareOpInterfaceMethods<InferTypeOpInterface>])>;

defvar OneFlow_WindowAttributes = [{
    `window` $window `strides` $strides `low` $low `high` $high `dilations` $dilations
}];

defvar OneFlow_NumberOfElement = RankedTensorOf<[I32]>;

def OneFlow_PoolOp : OneFlow_WindowOp<"pool",
    (ins OneFlow_ReduceKindAttr:$kind, OneFlow_Tensor:$x,
         Optional<OneFlow_NumberOfElement>:$index), (ins),
    [DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "maximum or sum over windows";
  let description = [{
    Over the last dimensions, extended by `low` elements before and `high` behind that
    count as neutral ones, `result[.., o] = max or Σ x[.., o · stride + k · dilation]`
    over the elements k of a window. f16 and bf16 are summed in f32. With `at` an index
    of `oneflow.pool_index`, the sum is over the element with that number only. A mean
    is a sum over a count.

    The gradient of the maximum is that of the first element which attains it, in
    row-major order, whatever the mesh; where an element is not a number, nothing's.

    Constraints:
    1. pool_c1: each list has one number for the same dimensions, which x has
    2. pool_c2: window extents, strides and dilations are at least 1, low and high at
       least 0, and all of them below 2^31
    3. pool_c3: the window fits in the extended x
    4. pool_c4: the kind is max or sum, of an index sum
    5. pool_c5: an index has the result's shape

    ```mlir
    %1 = oneflow.pool <max> %0 window [2, 2] strides [2, 2] low [0, 0] high [0, 0]
        dilations [1, 1] : (tensor<2x3x8x8xf32>) -> tensor<2x3x4x4xf32>
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = !strconcat("$kind $x (`at` $index^)?",
    OneFlow_WindowAttributes, [{
    `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }]);
  let hasVerifier = 1;
}

def OneFlow_PoolIndexOp : OneFlow_WindowOp<"pool_index",
    (ins OneFlow_Tensor:$x, OneFlow_Tensor:$best), (ins),
    []> {
  let summary = "which element of each window is the first of a value";
  let description = [{
    `best` is `oneflow.pool <max>` of x with the same windows. An element's number is
    its row-major place in the dimensions that windows slide over. Where no element of x
    in the window equals `best`, as of one that is not a number, the result is 2^31 - 1.

    Constraints: those of `oneflow.pool`, and
    1. pool_c6: best has the shape of windows, and elements have numbers below 2^31 - 1

    ```mlir
    %2 = oneflow.pool_index %0, %1 window [2] strides [2] low [0] high [0]
        dilations [1] : (tensor<3x8xf32>, tensor<3x4xf32>) -> tensor<3x4xi32>
    ```
  }];
  let results = (outs OneFlow_NumberOfElement:$result);
  let assemblyFormat = !strconcat("$x `,` $best", OneFlow_WindowAttributes, [{
    `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }]);
}

def OneFlow_PoolGradOp : OneFlow_WindowOp<"pool_grad",
    (ins OneFlow_FloatTensor:$dy, Optional<OneFlow_NumberOfElement>:$index),
    (ins DenseI64ArrayAttr:$extents),
    [DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "gradient of a pooling";
  let description = [{
    Every element of the result, which has the extents `extents`, is the sum of dy over
    the windows that it is in: the gradient of a sum. With `at` an index, a window
    counts for the element of that number only: the gradient of a maximum.

    Constraints: those of `oneflow.pool`, and
    1. pool_c5: an index has dy's shape
    2. pool_c7: one extent for each dimension that windows slide over, and dy has the
       shape of windows

    ```mlir
    %2 = oneflow.pool_grad %0 at %1 window [2] strides [2] low [0] high [0]
        dilations [1] extents [8] : (tensor<3x4xf32>, tensor<3x4xi32>) -> tensor<3x8xf32>
    ```
  }];
  let results = (outs OneFlow_FloatTensor:$result);
  let assemblyFormat = !strconcat("$dy (`at` $index^)?", OneFlow_WindowAttributes, [{
    `extents` $extents `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }]);
  let hasVerifier = 1;
}

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_POOLOPS_TD
