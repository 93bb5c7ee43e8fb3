// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the graph is made of besides computation: placements, variables, inputs,
// outputs, constants and boxing.

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_STRUCTURALOPS_TD
#define ONEFLOW_DIALECT_ONEFLOW_IR_STRUCTURALOPS_TD

include "oneflow/Dialect/OneFlow/IR/OneFlowBase.td"

def OneFlow_PlacementOp : OneFlow_Op<"placement", [Symbol]> {
  let summary = "a named mesh of ranks";
  let description = [{
    Declares a device kind and an n-dimensional mesh of ranks whose axes have names,
    the last axis fastest. Its ranks begin at `first_rank`.

    The axis `time` has no ranks: it is walked one coordinate, a micro-batch, after
    the other. What is split along it is so much smaller at any one time, and what is
    partial along it is accumulated.

    Constraints:
    1. placement_c1: at least one axis, as many names as sizes
    2. placement_c2: sizes are positive, their product at most 2^20
    3. placement_c3: axis names are distinct
    4. placement_c4: the axis `time` is the first

    ```mlir
    oneflow.placement @mesh cpu [dp = 2, tp = 4]
    oneflow.placement @steps cpu [time = 8, dp = 2]
    oneflow.placement @tail cpu [dp = 3] from 8
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OneFlow_DeviceAttr:$device,
                       StrArrayAttr:$axis_names, DenseI64ArrayAttr:$axis_sizes,
                       DefaultValuedAttr<I64Attr, "0">:$first_rank);
  let assemblyFormat = [{
    $sym_name `` $device custom<MeshAxes>($axis_names, $axis_sizes)
    (`from` $first_rank^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The sizes of all axes, time included.
    ::oneflow::sbp::Mesh getMesh();
    /// The product of the sizes of all axes but time.
    int64_t getRankCount();
    /// Whether axis 0 is `time`.
    bool hasTimeAxis();
    /// The size of the time axis, 1 without one.
    int64_t getMicroBatches() { return hasTimeAxis() ? getMesh().front() : 1; }
    /// Index of the axis of that name, -1 when there is none.
    int64_t findAxis(::llvm::StringRef name);
  }];
}

def OneFlow_VariableOp : OneFlow_Op<"variable", [Symbol]> {
  let summary = "a tensor that outlives a step";
  let description = [{
    A parameter, optimizer state, running statistic or counter. Without an initial
    value it begins as zeros. `storage` is how it lies on its placement between
    steps, which is apart from how each use wants it. `trainable` variables are what
    differentiation computes gradients of. `like` names the parameter that an
    optimizer's state belongs to: it lies as that does.

    `part of` says that the variable is an interval of a larger tensor, which the user
    goes on seeing whole, under its name. To the compiler each part is a variable like
    any other, so that each can be split where the whole, several projections in one
    matrix, cannot. The parts of one whole tile it, which `--oneflow-verify-spread`
    checks.

    Constraints:
    1. variable_c1: the type is static
    2. variable_c2: the initial value has the variable's type
    3. variable_c3: a part has its whole's rank, its extent in every dimension but
       `dim`, and lies within the whole in that one

    ```mlir
    oneflow.variable @bias : tensor<4xf32> = dense<0.5> : tensor<4xf32> {trainable}
    oneflow.variable @momentum on @mesh storage [S(0)] : tensor<4xf32>
    oneflow.variable @W.0 part of "W" [8, 6] at dim 1 offset 0 : tensor<8x4xf32>
    oneflow.variable @W.1 part of "W" [8, 6] at dim 1 offset 4 : tensor<8x2xf32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<OneFlow_Tensor>:$type,
                       OptionalAttr<ElementsAttr>:$initial,
                       UnitAttr:$trainable,
                       OptionalAttr<FlatSymbolRefAttr>:$like,
                       OptionalAttr<FlatSymbolRefAttr>:$placement,
                       OptionalAttr<OneFlow_NdSbpAttr>:$storage,
                       OptionalAttr<OneFlow_PartAttr>:$part);
  let assemblyFormat = [{
    $sym_name (`part` `of` $part^)? (`like` $like^)? (`on` $placement^)? (`storage` custom<NdSbp>($storage)^)?
    `:` $type (`=` $initial^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
  }];
}

def OneFlow_ReadOp : OneFlow_SpreadOp<"read",
    (ins FlatSymbolRefAttr:$variable),
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a variable's value when the step began";
  let description = [{
    The result's SBP is the variable's storage.

    Constraints:
    1. read_c1: the symbol is a variable of the result's type

    ```mlir
    oneflow.variable @w : tensor<4xf32>
    func.func @f() {
      %w = oneflow.read @w : tensor<4xf32>
      oneflow.output "w" %w : tensor<4xf32>
      return
    }
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $variable `` custom<Spread>($placement, $signature) attr-dict `:` type($result)
  }];
}

def OneFlow_UpdateOp : OneFlow_SpreadOp<"update",
    (ins FlatSymbolRefAttr:$variable, OneFlow_Tensor:$value),
    [MemoryEffects<[MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "what a variable holds when the step has ended";
  let description = [{
    At most one update per variable and function. The operand's SBP is the variable's
    storage.

    Constraints:
    1. update_c1: the symbol is a variable of the operand's type

    ```mlir
    oneflow.variable @step : tensor<i64>
    func.func @f() {
      %one = oneflow.constant dense<1> : tensor<i64>
      %old = oneflow.read @step : tensor<i64>
      %new = oneflow.add %old, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      oneflow.update @step, %new : tensor<i64>
      return
    }
    ```
  }];
  let assemblyFormat = [{
    $variable `,` $value `` custom<Spread>($placement, $signature) attr-dict
    `:` type($value)
  }];
}

def OneFlow_GradientOp : OneFlow_SpreadOp<"gradient",
    (ins FlatSymbolRefAttr:$variable, OneFlow_FloatTensor:$value),
    [MemoryEffects<[MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the gradient of the loss with respect to a variable";
  let description = [{
    What differentiation leaves and an optimizer consumes. Where no optimizer follows,
    it becomes an output.

    Constraints:
    1. gradient_c1: the symbol is a variable of the operand's type
  }];
  let assemblyFormat = [{
    $variable `,` $value `` custom<Spread>($placement, $signature) attr-dict
    `:` type($value)
  }];
}

def OneFlow_InputOp : OneFlow_SpreadOp<"input", (ins StrAttr:$name), [Pure]> {
  let summary = "a tensor that the caller of the step hands in";
  let description = [{
    The caller hands in the logical tensor; each rank takes its part, so every SBP but
    partial is free of communication.

    ```mlir
    %x = oneflow.input "x" on @mesh sbp () -> ([S(0)]) : tensor<8x4xf32>
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $name `` custom<Spread>($placement, $signature) attr-dict `:` type($result)
  }];
}

def OneFlow_OutputOp : OneFlow_SpreadOp<"output",
    (ins StrAttr:$name, OneFlow_Tensor:$value), [MemoryEffects<[MemWrite]>]> {
  let summary = "a tensor that the step hands out";
  let description = [{
    The operand's SBP is broadcast along every axis: whoever asks gets it whole.

    ```mlir
    oneflow.output "loss" %loss : tensor<f32>
    ```
  }];
  let assemblyFormat = [{
    $name $value `` custom<Spread>($placement, $signature) attr-dict `:` type($value)
  }];
}

def OneFlow_ConstantOp : OneFlow_ComputeOp<"constant",
    (ins ElementsAttr:$value), [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a tensor known at compile time";
  let description = [{
    ```mlir
    %half = oneflow.constant dense<0.5> : tensor<f32>
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = "$value `` custom<Spread>($placement, $signature) attr-dict";
  let hasFolder = 1;
}

def OneFlow_BoxingOp : OneFlow_SpreadOp<"boxing",
    (ins OneFlow_Tensor:$value, OptionalAttr<FlatSymbolRefAttr>:$source),
    [Pure, AllTypesMatch<["value", "result"]>,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "changes how a tensor lies on its mesh";
  let description = [{
    The only op that changes an SBP, and the only one between placements: `source` is
    the operand's placement where it differs from the op's. The logical value is the
    operand's; so is its gradient.

    Constraints:
    1. boxing_c1: once a signature is there, it has one operand and one result

    ```mlir
    %1 = oneflow.boxing %0 on @mesh sbp ([P(sum)]) -> ([B]) : tensor<4xf32>
    %2 = oneflow.boxing %1 from @mesh on @tail sbp ([B]) -> ([S(0)]) : tensor<4xf32>
    ```
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $value (`from` $source^)? `` custom<Spread>($placement, $signature) attr-dict
    `:` type($result)
  }];
  let hasVerifier = 1;
}

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_STRUCTURALOPS_TD
