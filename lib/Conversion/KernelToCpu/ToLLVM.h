//===- ToLLVM.h - the rest of a kernel in the llvm dialect ------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_CONVERSION_KERNELTOCPU_TOLLVM_H
#define ONEFLOW_LIB_CONVERSION_KERNELTOCPU_TOLLVM_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace oneflow::cpu {

/// Converts the scf, cf, arith, math and vector ops in `function`. Math
/// functions without an instruction become calls of `oneflow_math_<op>_<type>`,
/// declared in the module.
mlir::LogicalResult convertToLLVM(mlir::LLVM::LLVMFuncOp function);

} // namespace oneflow::cpu

#endif // ONEFLOW_LIB_CONVERSION_KERNELTOCPU_TOLLVM_H
