// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef ONEFLOW_INTERFACES_GRADIENTOPINTERFACE_TD
#define ONEFLOW_INTERFACES_GRADIENTOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let cppNamespace = "::oneflow";
  let description = [{
    An op through which reverse-mode differentiation passes.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the vector-Jacobian product at the builder's insertion point.
        `resultGradients` has one value per result, of the result's type, null where
        nothing flows back. Fills `operandGradients`, one per operand, of the
        operand's type; null where the op is constant in the operand or the operand
        has no gradient (integers). Fails, with an error on the op, where the
        gradient does not exist.
      }],
      "::llvm::LogicalResult", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder,
           "::llvm::ArrayRef<::mlir::Value>":$resultGradients,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGradients)>,
  ];
}

#endif // ONEFLOW_INTERFACES_GRADIENTOPINTERFACE_TD
