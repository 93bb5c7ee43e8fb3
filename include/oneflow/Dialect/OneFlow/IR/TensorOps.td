// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that move, reduce or contract dimensions.

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_TENSOROPS_TD
#define ONEFLOW_DIALECT_ONEFLOW_IR_TENSOROPS_TD

include "oneflow/Dialect/OneFlow/IR/OneFlowBase.td"

def OneFlow_MatmulOp : OneFlow_ComputeOp<"matmul",
    (ins OneFlow_FloatTensor:$lhs, OneFlow_FloatTensor:$rhs,
         UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs),
    [SameOperandsAndResultElementType,
     DeclareOpInterfaceMethods<InferTypeOpInterface>,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "matrix product over the last two dimensions";
  let description = [{
    `(b.. m k), (b.. k n) -> (b.. m n)`, or `(b.. m k), (k n) -> (b.. m n)`; a
    transposed operand has its last two dimensions swapped. f16 and bf16 accumulate
    in f32.

    Constraints:
    1. matmul_c1: ranks are at least 2; rhs has rank 2 or lhs's
    2. matmul_c2: batch extents are equal
    3. matmul_c3: the contracted extents are equal
    4. matmul_c4: lhs is transposed only where rhs has its rank

    ```mlir
    %2 = oneflow.matmul %0, %1 : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
    %3 = oneflow.matmul %0, %2 {transpose_lhs}
        : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    ```
  }];
  let results = (outs OneFlow_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
}

def OneFlow_ReduceOp : OneFlow_ComputeOp<"reduce",
    (ins OneFlow_Tensor:$x, OneFlow_ReduceKindAttr:$kind,
         DenseI64ArrayAttr:$dims, UnitAttr:$keep_dims),
    [SameOperandsAndResultElementType,
     DeclareOpInterfaceMethods<InferTypeOpInterface>,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "sum, maximum, minimum or product over dimensions";
  let description = [{
    The gradient of max and min is shared equally by all elements that attain it. An
    empty reduction gives the neutral element.

    Constraints:
    1. reduce_c1: dims are distinct, increasing dimensions of x

    ```mlir
    %1 = oneflow.reduce <sum> %0 dims [0] : (tensor<8x4xf32>) -> tensor<4xf32>
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $kind $x `dims` $dims `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
}

def OneFlow_BroadcastOp : OneFlow_ComputeOp<"broadcast", (ins OneFlow_Tensor:$x),
    [SameOperandsAndResultElementType,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "repeats a tensor along dimensions, as NumPy does";
  let description = [{
    Constraints:
    1. broadcast_c1: aligned at the last dimension, every extent of x is the result's
       or 1

    ```mlir
    %1 = oneflow.broadcast %0 : (tensor<4x1xf32>) -> tensor<2x4x8xf32>
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $x `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def OneFlow_TransposeOp : OneFlow_ComputeOp<"transpose",
    (ins OneFlow_Tensor:$x, DenseI64ArrayAttr:$permutation),
    [SameOperandsAndResultElementType,
     DeclareOpInterfaceMethods<InferTypeOpInterface>,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "permutes dimensions";
  let description = [{
    Dimension i of the result is dimension `permutation[i]` of x.

    Constraints:
    1. transpose_c1: permutation is one of x's dimensions

    ```mlir
    %1 = oneflow.transpose %0 [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $x $permutation `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def OneFlow_ReshapeOp : OneFlow_ComputeOp<"reshape", (ins OneFlow_Tensor:$x),
    [SameOperandsAndResultElementType,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "the same elements, row-major, in another shape";
  let description = [{
    Constraints:
    1. reshape_c1: as many elements before as after

    ```mlir
    %1 = oneflow.reshape %0 : (tensor<8x4x2xf32>) -> tensor<8x8xf32>
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $x `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_TENSOROPS_TD
