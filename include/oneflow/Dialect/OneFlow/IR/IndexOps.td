// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that take tensors apart, put them together, and choose elements by index
// or condition.

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_INDEXOPS_TD
#define ONEFLOW_DIALECT_ONEFLOW_IR_INDEXOPS_TD

include "oneflow/Dialect/OneFlow/IR/ElementwiseOps.td"

defvar OneFlow_IndexTensor = RankedTensorOf<[I32, I64]>;

def OneFlow_SliceOp : OneFlow_ComputeOp<"slice",
    (ins OneFlow_Tensor:$x, DenseI64ArrayAttr:$offsets,
         DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$strides),
    [SameOperandsAndResultElementType,
     DeclareOpInterfaceMethods<InferTypeOpInterface>,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "a box of a tensor, perhaps with steps";
  let description = [{
    Element i of the result along a dimension is element `offset + i · stride` of x. A
    dimension that is kept whole (offset 0, stride 1, all of the extent) may be split;
    the others may not.

    Constraints:
    1. slice_c1: one offset, size and stride for each dimension of x
    2. slice_c2: offsets and sizes are not negative, strides at least 1
    3. slice_c3: the last element taken is one of x

    ```mlir
    %1 = oneflow.slice %0 offsets [0, 4] sizes [8, 2] strides [1, 3]
        : (tensor<8x10xf32>) -> tensor<8x2xf32>
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $x `offsets` $offsets `sizes` $sizes `strides` $strides
    `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def OneFlow_PadOp : OneFlow_ComputeOp<"pad",
    (ins OneFlow_Tensor:$x, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
         DenseI64ArrayAttr:$interior, TypedAttrInterface:$value),
    [SameOperandsAndResultElementType,
     DeclareOpInterfaceMethods<InferTypeOpInterface>,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "a tensor within a larger one that holds one value";
  let description = [{
    `low` elements of the value come before each dimension, `high` behind it, and
    `interior` between each two elements. Padding by zero is linear, and the adjoint of
    a slice.

    Constraints:
    1. pad_c1: one number of low, high and interior elements for each dimension of x,
       none negative
    2. pad_c2: the value has x's element type

    ```mlir
    %1 = oneflow.pad %0 low [0, 4] high [0, 2] interior [0, 2] value 0.0 : f32
        : (tensor<8x2xf32>) -> tensor<8x10xf32>
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $x `low` $low `high` $high `interior` $interior `value` $value
    `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// True if dimension `dim` gets no element.
    bool isWhole(unsigned dim) {
      return getLow()[dim] == 0 && getHigh()[dim] == 0 && getInterior()[dim] == 0;
    }
  }];
}

def OneFlow_ConcatOp : OneFlow_ComputeOp<"concat",
    (ins Variadic<OneFlow_Tensor>:$xs, I64Attr:$dim),
    [SameOperandsAndResultElementType,
     DeclareOpInterfaceMethods<InferTypeOpInterface>,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "tensors one behind the other along a dimension";
  let description = [{
    Constraints:
    1. concat_c1: at least one operand, and dim is one of its dimensions
    2. concat_c2: the operands have one shape but for dim

    ```mlir
    %2 = oneflow.concat %0, %1 dim 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $xs `dim` $dim `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def OneFlow_SelectOp : OneFlow_ElementwiseOp<"select",
    (ins RankedTensorOf<[I1]>:$condition, OneFlow_Tensor:$lhs, OneFlow_Tensor:$rhs),
    "::oneflow::selectPartials()",
    [DeclareOpInterfaceMethods<InferTypeOpInterface>,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "lhs where the condition holds, else rhs";
  let description = [{
    Shapes broadcast as NumPy's do.

    Constraints:
    1. select_c1: lhs and rhs have one element type

    ```mlir
    %3 = oneflow.select %0, %1, %2
        : (tensor<4x4xi1>, tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $condition `,` $lhs `,` $rhs `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
}

def OneFlow_GatherOp : OneFlow_ComputeOp<"gather",
    (ins OneFlow_Tensor:$table, OneFlow_IndexTensor:$indices, I64Attr:$dim),
    [DeclareOpInterfaceMethods<InferTypeOpInterface>,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "slices of a table at indices that are data";
  let description = [{
    `(a.. v b..), (i..) -> (a.. i.. b..)`: `table[a.., indices[i..], b..]` where v is
    dimension `dim` of the table. A negative index counts from the end; one outside
    [-v, v) is an error when the step runs. Split along v it gives P(sum): each rank
    answers for its own rows, and the table is not gathered.

    Constraints:
    1. gather_c1: dim is a dimension of the table

    ```mlir
    %2 = oneflow.gather %0, %1 dim 0
        : (tensor<1000x64xf32>, tensor<8x16xi64>) -> tensor<8x16x64xf32>
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $table `,` $indices `dim` $dim `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
}

def OneFlow_GatherGradOp : OneFlow_ComputeOp<"gather_grad",
    (ins OneFlow_FloatTensor:$dy, OneFlow_IndexTensor:$indices, I64Attr:$dim,
         I64Attr:$extent),
    [DeclareOpInterfaceMethods<InferTypeOpInterface>,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "gradient of gather with respect to the table";
  let description = [{
    `(a.. i.. b..), (i..) -> (a.. v b..)`: row j is the sum of the slices of dy whose
    index is j, in the order of the indices, and zero where there is none. `extent` is
    v. The result splits along v where dy and the indices are whole.

    Constraints:
    1. gather_grad_c1: from dim on, dy has the extents of the indices
    2. gather_grad_c2: extent is not negative

    ```mlir
    %2 = oneflow.gather_grad %0, %1 dim 0 extent 1000
        : (tensor<8x16x64xf32>, tensor<8x16xi64>) -> tensor<1000x64xf32>
    ```
  }];
  let results = (outs OneFlow_FloatTensor:$result);
  let assemblyFormat = [{
    $dy `,` $indices `dim` $dim `extent` $extent
    `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_INDEXOPS_TD
