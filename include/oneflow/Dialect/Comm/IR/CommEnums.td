// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Enumerations of the `comm` dialect.

#ifndef ONEFLOW_DIALECT_COMM_IR_COMMENUMS_TD
#define ONEFLOW_DIALECT_COMM_IR_COMMENUMS_TD

include "mlir/IR/EnumAttr.td"

def Comm_ScalarKind : I32EnumAttr<"ScalarKind", "what a rank-dependent scalar is", [
    I32EnumAttrCase<"Extent", 1, "extent">, I32EnumAttrCase<"Offset", 2, "offset">,
    I32EnumAttrCase<"Coordinate", 3, "coordinate">]> {
  let cppNamespace = "::oneflow::comm";
  let genSpecializedAttr = 0;
}

def Comm_Reducer : I32EnumAttr<"Reducer", "how parts combine", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"Prod", 3, "prod">]> {
  let cppNamespace = "::oneflow::comm";
  let genSpecializedAttr = 0;
}

#endif // ONEFLOW_DIALECT_COMM_IR_COMMENUMS_TD
