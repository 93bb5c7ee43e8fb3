// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The per-rank dialect: shapes are local, data moves by explicit collectives, and
// computation stands in kernels.

#ifndef ONEFLOW_DIALECT_COMM_IR_COMMOPS_TD
#define ONEFLOW_DIALECT_COMM_IR_COMMOPS_TD

include "oneflow/Dialect/Comm/IR/CommBase.td"

class Comm_Op<string mnemonic, list<Trait> traits = []>
    : Op<Comm_Dialect, mnemonic, traits>;

def Comm_ScalarOp : Comm_Op<"scalar", [Pure]> {
  let summary = "a number that depends on the rank, evaluated when a plan is loaded";
  let arguments = (ins Comm_ScalarAttr:$value);
  let results = (outs Index:$result);
  let assemblyFormat = "$value attr-dict";
}

def Comm_InputOp : Comm_Op<"input", [Pure]> {
  let summary = "this rank's part of a tensor that the caller hands in";
  let arguments = (ins StrAttr:$name, Comm_LayoutAttr:$layout,
                       Variadic<Index>:$extents);
  let results = (outs Comm_Tensor:$result);
  let assemblyFormat = [{
    $name $layout (`extents` `(` $extents^ `)`)? attr-dict `:` type($result)
  }];
}

def Comm_OutputOp : Comm_Op<"output", [MemoryEffects<[MemWrite]>]> {
  let summary = "hands a tensor out; every rank holds it whole";
  let arguments = (ins StrAttr:$name, Comm_LayoutAttr:$layout, Comm_Tensor:$value);
  let assemblyFormat = "$name $value $layout attr-dict `:` type($value)";
}

def Comm_ReadOp : Comm_Op<"read", [Pure]> {
  let summary = "this rank's part of a variable, as the step began";
  let arguments = (ins FlatSymbolRefAttr:$variable, Variadic<Index>:$extents);
  let results = (outs Comm_Tensor:$result);
  let assemblyFormat = [{
    $variable (`extents` `(` $extents^ `)`)? attr-dict `:` type($result)
  }];
}

def Comm_UpdateOp : Comm_Op<"update", [MemoryEffects<[MemWrite]>]> {
  let summary = "this rank's part of a variable, as the step ends";
  let arguments = (ins FlatSymbolRefAttr:$variable, Comm_Tensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

def Comm_KernelOp : Comm_Op<"kernel", [
    Pure, IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments]> {
  let summary = "computation on local tensors, compiled into one kernel";
  let description = [{
    The region's arguments are the inputs: tensors first, then index scalars. The body
    holds linalg, tensor, arith and math ops and ends in `comm.yield`. `extents` has one
    value per dynamic dimension of the results, in order.

    Constraints:
    1. kernel_c1: one region argument per input, of its type, tensors first
    2. kernel_c2: what is yielded has the results' types
    3. kernel_c3: one extent per dynamic result dimension

    ```mlir
    %r = comm.kernel "relu" on @mesh (%a = %0 : tensor<4xf32>) -> (tensor<4xf32>) {
      comm.yield %a : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, FlatSymbolRefAttr:$placement,
                       Variadic<AnyType>:$inputs, Variadic<Index>:$extents);
  let results = (outs Variadic<Comm_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Comm_YieldOp : Comm_Op<"yield", [Pure, Terminator, ReturnLike,
                                     HasParent<"KernelOp">]> {
  let summary = "the results of a kernel";
  let arguments = (ins Variadic<Comm_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Comm_AccumulateOp : Comm_Op<"accumulate", [
    Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "the reduction of a tensor over all micro-batches";
  let description = [{
    The operand is made once per micro-batch, the result is there behind the last.
    Micro-batches are combined in their order.
  }];
  let arguments = (ins Comm_ReducerAttr:$reducer, Comm_Tensor:$value,
                       FlatSymbolRefAttr:$placement, Variadic<Index>:$extents);
  let results = (outs Comm_Tensor:$result);
  let assemblyFormat = [{
    $reducer $value `on` $placement (`extents` `(` $extents^ `)`)? attr-dict
    `:` type($result)
  }];
}

// Collectives run over the ranks that differ in the mesh axes `axes` only. They are
// not Pure: all ranks of a group must issue them in one order.
class Comm_CollectiveOp<string mnemonic, dag own>
    : Comm_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = !con((ins Comm_Tensor:$value, FlatSymbolRefAttr:$placement,
                            DenseI64ArrayAttr:$axes), own,
                       (ins Variadic<Index>:$extents));
  let results = (outs Comm_Tensor:$result);
}

def Comm_AllReduceOp : Comm_CollectiveOp<"all_reduce", (ins Comm_ReducerAttr:$reducer)> {
  let summary = "every rank gets the reduction of all ranks' tensors";
  let assemblyFormat = [{
    $reducer $value `over` $placement $axes (`extents` `(` $extents^ `)`)? attr-dict
    `:` type($value) `->` type($result)
  }];
}

def Comm_AllGatherOp : Comm_CollectiveOp<"all_gather",
    (ins I64Attr:$dim, DefaultValuedAttr<I64Attr, "1">:$block)> {
  let summary = "every rank gets the concatenation of all ranks' parts";
  let assemblyFormat = [{
    $value `dim` $dim `over` $placement $axes (`extents` `(` $extents^ `)`)? attr-dict
    `:` type($value) `->` type($result)
  }];
}

def Comm_ReduceScatterOp : Comm_CollectiveOp<"reduce_scatter",
    (ins Comm_ReducerAttr:$reducer, I64Attr:$dim,
         DefaultValuedAttr<I64Attr, "1">:$block)> {
  let summary = "every rank gets its part of the reduction of all ranks' tensors";
  let assemblyFormat = [{
    $reducer $value `dim` $dim `over` $placement $axes (`extents` `(` $extents^ `)`)?
    attr-dict `:` type($value) `->` type($result)
  }];
}

def Comm_AllToAllOp : Comm_CollectiveOp<"all_to_all",
    (ins I64Attr:$source_dim, DefaultValuedAttr<I64Attr, "1">:$source_block,
         I64Attr:$target_dim, DefaultValuedAttr<I64Attr, "1">:$target_block)> {
  let summary = "from split along one dimension to split along another";
  let assemblyFormat = [{
    $value `dims` $source_dim `->` $target_dim `over` $placement $axes
    (`extents` `(` $extents^ `)`)? attr-dict `:` type($value) `->` type($result)
  }];
}

def Comm_ExchangeOp : Comm_Op<"exchange", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "from any layout to any other, also on other ranks";
  let description = [{
    The exact intersection exchange: every element that a target rank holds comes once
    from the first rank that holds it, or from all parts where the source is partial.
  }];
  let arguments = (ins Comm_Tensor:$value, Comm_LayoutAttr:$source,
                       Comm_LayoutAttr:$target, Variadic<Index>:$extents);
  let results = (outs Comm_Tensor:$result);
  let assemblyFormat = [{
    $value `from` $source `to` $target (`extents` `(` $extents^ `)`)? attr-dict
    `:` type($value) `->` type($result)
  }];
}

#endif // ONEFLOW_DIALECT_COMM_IR_COMMOPS_TD
