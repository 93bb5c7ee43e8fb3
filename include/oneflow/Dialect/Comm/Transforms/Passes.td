// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Passes inside the per-rank dialect, in the order of the pipeline.

#ifndef ONEFLOW_DIALECT_COMM_TRANSFORMS_PASSES_TD
#define ONEFLOW_DIALECT_COMM_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseKernelsPass : Pass<"comm-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "merge kernels that one loop nest computes";
  let description = [{
    Merges a kernel into one that reads its results when the merged kernel is an
    elementwise computation over one space, a computation per row (reductions over
    trailing dimensions with what feeds them and what reads them), or a matrix product
    with an elementwise epilogue. Both are on one placement and equally many
    communications deep, and every path from the one to the other is inside the merged
    kernel, so no communication starts later than before. What others read of the first
    kernel stays a result.

    Nothing is computed twice but what costs nothing: kernels of constants and reshapes
    are cloned into every kernel that reads them, and go when nothing else does.
  }];
  let options = [
    Option<"maxOps", "max-ops", "unsigned", "24", "most linalg ops in a merged kernel">,
    Option<"maxOperands", "max-operands", "unsigned", "32",
           "most inputs and results of a merged kernel">,
  ];
  let dependentDialects = ["::oneflow::comm::CommDialect",
                           "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def VerifyLocalPass : Pass<"comm-verify-local", "::mlir::ModuleOp"> {
  let summary = "phase gate: functions are per-rank programs";
  let description = [{
    Errors, at the op and its source: an op in a function that is not of this dialect
    (placements and variables stay beside the functions); an op in a kernel that is not
    of linalg, tensor, arith or math, but for `cf.assert`; a tensor with a dynamic
    extent that no `comm.scalar` gives.
  }];
}

#endif // ONEFLOW_DIALECT_COMM_TRANSFORMS_PASSES_TD
