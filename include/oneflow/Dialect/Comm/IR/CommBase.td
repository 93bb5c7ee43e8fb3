// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `comm` dialect and its attributes.

#ifndef ONEFLOW_DIALECT_COMM_IR_COMMBASE_TD
#define ONEFLOW_DIALECT_COMM_IR_COMMBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "oneflow/Dialect/Comm/IR/CommEnums.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Comm_Dialect : Dialect {
  let name = "comm";
  let cppNamespace = "::oneflow::comm";
  let summary = "what each rank does";
  let description = [{
    One program for all ranks of a placement, on tensors of local shape. No SBP is left
    but in the layouts of inputs, outputs and variables, where the caller's global
    tensors meet the ranks' parts. What depends on the rank's coordinates (the extents
    of unevenly split dimensions, offsets) are index values made by `comm.scalar`; a
    tensor with such an extent has a dynamic dimension, and the op that makes it says
    by which scalar (`extents`).

    There is no start/wait form of collectives: they become tasks of their own in the
    actor graph, which overlap with whatever does not depend on them.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::oneflow::OneFlowDialect"];
}

class Comm_Attr<string name, string attrMnemonic> : AttrDef<Comm_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Comm_ScalarKindAttr : EnumAttr<Comm_Dialect, Comm_ScalarKind, "scalar_kind">;

def Comm_ScalarAttr : Comm_Attr<"Scalar", "scalar"> {
  let summary = "a number that depends on the rank";
  let description = [{
    `extent` and `offset`: of this rank's part of `size` elements after balanced splits
    along `axes`, first to last, on multiples of `blocks`. `coordinate`: the rank's
    coordinate along `axes[0]`; size is 0.

    Example: `#comm.scalar<extent, 5, @mesh, [0], [1]>`.
  }];
  let parameters = (ins EnumParameter<Comm_ScalarKind>:$kind, "int64_t":$size,
                        "::mlir::FlatSymbolRefAttr":$placement,
                        ArrayRefParameter<"int64_t">:$axes,
                        ArrayRefParameter<"int64_t">:$blocks);
  let assemblyFormat = [{
    `<` $kind `,` $size `,` $placement `,` `[` $axes `]` `,` `[` $blocks `]` `>`
  }];
}

def Comm_LayoutAttr : Comm_Attr<"Layout", "layout"> {
  let summary = "a global tensor: logical type, placement and SBP";
  let description = [{
    Example: `#comm.layout<tensor<8x4xf32>, @mesh, <[S(0)]>>`.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$type,
                        "::mlir::FlatSymbolRefAttr":$placement,
                        "::oneflow::NdSbpAttr":$sbp);
  let assemblyFormat = "`<` $type `,` $placement `,` $sbp `>`";
}

def Comm_ReducerAttr : EnumAttr<Comm_Dialect, Comm_Reducer, "reducer">;

def Comm_Tensor : RankedTensorOf<[AnyFloat, AnySignlessInteger]>;

#endif // ONEFLOW_DIALECT_COMM_IR_COMMBASE_TD
