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
  }];
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
