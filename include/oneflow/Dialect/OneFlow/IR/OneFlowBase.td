// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The dialect, its attributes, and the classes that its ops share.

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_ONEFLOWBASE_TD
#define ONEFLOW_DIALECT_ONEFLOW_IR_ONEFLOWBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "oneflow/Interfaces/SpreadOpInterface.td"
include "oneflow/Interfaces/GradientOpInterface.td"
include "oneflow/Interfaces/LocalOpInterface.td"

def OneFlow_Dialect : Dialect {
  let name = "oneflow";
  let cppNamespace = "::oneflow";
  let summary = "what is computed, for the whole cluster";
  let description = [{
    The logical graph: ops with value semantics on builtin tensors with logical
    (global) shapes. Each op says on which placement it runs and by which SBP
    signature; neither is part of a tensor's type, so that search and inference
    rewrite attributes only. State is threaded: every `oneflow.read` sees a variable
    as it was when the step began, and `oneflow.update` says what it holds when the
    step ends.

    Two discardable attributes pin how things lie, until inference wrote it down:

    - `oneflow.sbp`, on ops and variables, is a list of texts such as `"S(0)@dp"`,
      `"in1=S(1)@tp"` or `"out0=[S(0), ?]"`: along which mesh axis, or all of them,
      the storage of a variable or the operands and results of an op (the first
      result where none is named) have which SBP.
    - `oneflow.sharding`, on ops, is a list of `#oneflow.sharding`: which device holds
      which shard, as an ONNX model says it.

    `oneflow.per_micro_batch`, on `oneflow.reduce`, says that a reduction over the batch
    may be taken of each micro-batch by itself: see `oneflow.batch_norm`.
  }];
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::mlir::cf::ControlFlowDialect"
  ];
}

class OneFlow_Attr<string name, string attrMnemonic>
    : AttrDef<OneFlow_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def OneFlow_NdSbpAttr : OneFlow_Attr<"NdSbp", "nd_sbp"> {
  let summary = "how a tensor lies on a mesh: one SBP per axis";
  let description = [{
    Example: `#oneflow.nd_sbp<[S(0), S(1, block = 64), B, P(sum)]>`.
  }];
  let parameters = (ins ArrayRefParameter<"::oneflow::sbp::Sbp">:$axes);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static NdSbpAttr get(::mlir::MLIRContext *context,
                         const ::oneflow::sbp::NdSbp &sbp);
    ::oneflow::sbp::NdSbp toNdSbp() const;
    bool isBroadcast() const;
  }];
}

def OneFlow_SignatureAttr : OneFlow_Attr<"Signature", "signature"> {
  let summary = "the SBP of every operand and result of an op";
  let description = [{
    Example: `#oneflow.signature<([S(0)], [B]) -> ([S(0)])>`.
  }];
  let parameters = (ins ArrayRefParameter<"NdSbpAttr">:$operands,
                        ArrayRefParameter<"NdSbpAttr">:$results);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static SignatureAttr get(::mlir::MLIRContext *context,
                             const ::oneflow::sbp::NdSignature &signature);
    ::oneflow::sbp::NdSignature toNdSignature() const;
  }];
}

def OneFlow_PartAttr : OneFlow_Attr<"Part", "part"> {
  let summary = "which part of a larger logical tensor a variable is";
  let description = [{
    The larger tensor, the whole, is what the user knows: by its name and shape it is
    listed, saved and loaded. A part holds `[offset, offset + its own extent)` of the
    whole's dimension `dim`, and all of the others.

    Example: `#oneflow<part "W" [768, 2304] at dim 1 offset 768>`.
  }];
  let parameters = (ins "::mlir::StringAttr":$whole,
                        ArrayRefParameter<"int64_t">:$shape,
                        "int64_t":$dim, "int64_t":$offset);
  let assemblyFormat = "`` $whole ` ` `[` $shape `]` `at` `dim` $dim `offset` $offset";
}

def OneFlow_ShardingAttr : OneFlow_Attr<"Sharding", "sharding"> {
  let summary = "which devices hold which shards of an operand or result";
  let description = [{
    `groups` are the devices of each shard, counted with the last of `dims` fastest;
    each of `dims` is a dimension, the number of its shards, and, if it is not 1, the
    block on whose multiples cuts fall (oneflow/Sbp/Sharding.h).

    Example: halves of dimension 0, each on two of four devices:
    `#oneflow.sharding<in 1, groups = [[0, 1], [2, 3]], dims = [[0, 2]], devices = 4>`.
  }];
  let parameters = (ins "bool":$isOperand, "unsigned":$index,
                        "::mlir::ArrayAttr":$groups, "::mlir::ArrayAttr":$dims,
                        "int64_t":$devices);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static ShardingAttr get(::mlir::MLIRContext *context, bool isOperand,
                            unsigned index,
                            const ::oneflow::sbp::Sharding &sharding,
                            int64_t devices);
    ::oneflow::sbp::Sharding toSharding() const;
  }];
}

def OneFlow_Device : I32EnumAttr<"Device", "what kind of device a rank computes on", [
    I32EnumAttrCase<"Cpu", 0, "cpu">, I32EnumAttrCase<"Cuda", 1, "cuda">]> {
  let cppNamespace = "::oneflow";
  let genSpecializedAttr = 0;
}
def OneFlow_DeviceAttr : EnumAttr<OneFlow_Dialect, OneFlow_Device, "device">;

def OneFlow_ReduceKind : I32EnumAttr<"ReduceKind", "how a reduction combines", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"Prod", 3, "prod">]> {
  let cppNamespace = "::oneflow";
  let genSpecializedAttr = 0;
}
def OneFlow_ReduceKindAttr
    : EnumAttr<OneFlow_Dialect, OneFlow_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def OneFlow_CompareKind : I32EnumAttr<"CompareKind", "which order a comparison tests", [
    I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Lt", 1, "lt">,
    I32EnumAttrCase<"Gt", 2, "gt">]> {
  let cppNamespace = "::oneflow";
  let genSpecializedAttr = 0;
}
def OneFlow_CompareKindAttr
    : EnumAttr<OneFlow_Dialect, OneFlow_CompareKind, "compare_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def OneFlow_FloatTensor : RankedTensorOf<[AnyFloat]>;
def OneFlow_IntTensor : RankedTensorOf<[AnySignlessInteger]>;
def OneFlow_Tensor : RankedTensorOf<[AnyFloat, AnySignlessInteger]>;

class OneFlow_Op<string mnemonic, list<Trait> traits = []>
    : Op<OneFlow_Dialect, mnemonic, traits>;

// An op of the graph proper. `operandsAndAttributes` are the op's own; placement
// and signature are added to them.
class OneFlow_SpreadOp<string mnemonic, dag operandsAndAttributes,
                       list<Trait> traits = []>
    : OneFlow_Op<mnemonic, !listconcat(traits, [
          DeclareOpInterfaceMethods<SpreadOpInterface>])> {
  let arguments = !con(operandsAndAttributes,
                       (ins OptionalAttr<FlatSymbolRefAttr>:$placement,
                            OptionalAttr<OneFlow_SignatureAttr>:$signature));
}

// A pure op that each rank computes on its own part.
class OneFlow_ComputeOp<string mnemonic, dag operandsAndAttributes,
                        list<Trait> traits = []>
    : OneFlow_SpreadOp<mnemonic, operandsAndAttributes, !listconcat(traits, [
          Pure, DeclareOpInterfaceMethods<LocalOpInterface>])>;

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_ONEFLOWBASE_TD
