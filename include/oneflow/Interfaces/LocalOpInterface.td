// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef ONEFLOW_INTERFACES_LOCALOPINTERFACE_TD
#define ONEFLOW_INTERFACES_LOCALOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def LocalOpInterface : OpInterface<"LocalOpInterface"> {
  let cppNamespace = "::oneflow";
  let description = [{
    An op that each rank computes on its own part without communication, as a
    kernel of linalg, tensor, arith and math ops.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the op's computation on local tensors at the builder's insertion
        point, inside a kernel, and returns one local tensor per result. `view` gives
        the local operands and what depends on the rank: see
        oneflow/Interfaces/LocalView.h.
      }],
      "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildLocal",
      (ins "::mlir::OpBuilder &":$builder, "::oneflow::LocalView &":$view)>,
  ];
}

#endif // ONEFLOW_INTERFACES_LOCALOPINTERFACE_TD
