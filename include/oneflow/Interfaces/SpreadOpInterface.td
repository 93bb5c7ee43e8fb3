// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How an op spreads over a mesh: its placement, its signature, and the rule from
// which its signatures are derived.

#ifndef ONEFLOW_INTERFACES_SPREADOPINTERFACE_TD
#define ONEFLOW_INTERFACES_SPREADOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def SpreadOpInterface : OpInterface<"SpreadOpInterface"> {
  let cppNamespace = "::oneflow";
  let description = [{
    An op of the logical graph. It carries its placement (a symbol of a
    `oneflow.placement`) and its SBP signature for operands and results; both are
    absent until placing and SBP inference fill them in. A mismatch between a
    producer's result and a consumer's operand is where boxing goes.
  }];
  let methods = [
    InterfaceMethod<"Factors and partial rules; see oneflow/Sbp/Rule.h. Valid once "
                    "all shapes are static.",
                    "::oneflow::sbp::OpRule", "getSbpRule">,
    InterfaceMethod<"Placement symbol, null when the op is not placed.",
                    "::mlir::FlatSymbolRefAttr", "getPlacementAttr">,
    InterfaceMethod<"Places the op.", "void", "setPlacementAttr",
                    (ins "::mlir::FlatSymbolRefAttr":$placement)>,
    InterfaceMethod<"SBP signature, null when it is not chosen.",
                    "::oneflow::SignatureAttr", "getSignatureAttr">,
    InterfaceMethod<"Chooses the signature.", "void", "setSignatureAttr",
                    (ins "::oneflow::SignatureAttr":$signature)>,
  ];
}

#endif // ONEFLOW_INTERFACES_SPREADOPINTERFACE_TD
