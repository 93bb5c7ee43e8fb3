//===- VerifyLocal.cpp - phase gate of the per-rank level -----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks that functions are per-rank programs.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Comm/IR/Comm.h"
#include "oneflow/Dialect/Comm/Transforms/Passes.h"
#include "oneflow/Interfaces/SourceName.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace oneflow::comm {
#define GEN_PASS_DEF_VERIFYLOCALPASS
#include "oneflow/Dialect/Comm/Transforms/Passes.h.inc"
} // namespace oneflow::comm

using namespace mlir;
using namespace oneflow;
using namespace oneflow::comm;

/// An error that says what the user calls the op, where that is known.
static InFlightDiagnostic report(Operation *op) {
  InFlightDiagnostic diagnostic = op->emitOpError();
  std::string name = sourceName(op->getLoc());
  if (!name.empty())
    diagnostic << "(" << name << ") ";
  return diagnostic;
}

static LogicalResult verifyBody(KernelOp kernel) {
  WalkResult result = kernel.getBody().walk([&](Operation *op) {
    if (isa<YieldOp, cf::AssertOp>(op) ||
        isa<linalg::LinalgDialect, tensor::TensorDialect, arith::ArithDialect,
            math::MathDialect>(op->getDialect()))
      return WalkResult::advance();
    report(op)
        << "in kernel \"" << kernel.getName()
        << "\": expected only linalg, tensor, arith and math ops and cf.assert";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult verifyExtents(Operation &op) {
  for (Value result : op.getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      continue;
    SmallVector<Value> extents = getExtents(result);
    if (extents.size() != static_cast<size_t>(type.getNumDynamicDims()))
      return report(&op) << "expected " << type.getNumDynamicDims()
                         << " extents for " << type
                         << ", got: " << extents.size();
    for (Value extent : extents) {
      Operation *maker = extent.getDefiningOp();
      if (!isa_and_nonnull<ScalarOp>(maker))
        return report(&op) << "expected every extent from a comm.scalar, got: "
                           << (maker ? maker->getName().getStringRef()
                                     : "a block argument");
    }
  }
  return success();
}

static LogicalResult verifyFunction(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expected one block");
  for (Operation &op : function.getBody().front()) {
    if (isa<func::ReturnOp>(op)) {
      if (op.getNumOperands() != 0)
        return report(&op) << "expected results as comm.output";
      continue;
    }
    if (!isa_and_nonnull<CommDialect>(op.getDialect()))
      return report(&op)
             << "expected only ops of the comm dialect in a per-rank "
                "program: run --convert-oneflow-to-comm first";
    if (failed(verifyExtents(op)))
      return failure();
    if (auto kernel = dyn_cast<KernelOp>(op))
      if (failed(verifyBody(kernel)))
        return failure();
  }
  return success();
}

namespace {
struct VerifyLocalPass : comm::impl::VerifyLocalPassBase<VerifyLocalPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(verifyFunction(function)))
        return signalPassFailure();
  }
};
} // namespace
