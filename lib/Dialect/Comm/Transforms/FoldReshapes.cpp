//===- FoldReshapes.cpp - kernels without reshapes inside -----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's patterns, on one kernel's body.
//
//===----------------------------------------------------------------------===//

#include "FoldReshapes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace oneflow::comm;

bool oneflow::comm::hasReshape(KernelOp kernel) {
  return llvm::any_of(kernel.getBody().front(), [](Operation &op) {
    return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
  });
}

void oneflow::comm::foldReshapes(KernelOp kernel) {
  MLIRContext *context = kernel.getContext();
  RewritePatternSet patterns(context);
  linalg::populateFoldReshapeOpsByExpansionPatterns(
      patterns, [](OpOperand *) { return true; });
  // What the expansion leaves around fills and empty tensors.
  linalg::FillOp::getCanonicalizationPatterns(patterns, context);
  tensor::populateFoldTensorEmptyPatterns(patterns);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  // Not converging leaves a correct body.
  (void)applyPatternsGreedily(kernel.getBody(), std::move(patterns), config);
  // Where a body asks for its position, that of an expanded dimension comes as
  // an affine expression; kernels compute by arith only.
  kernel.walk([](affine::AffineApplyOp apply) {
    OpBuilder builder(apply);
    std::optional<SmallVector<Value, 8>> expanded = affine::expandAffineMap(
        builder, apply.getLoc(), apply.getAffineMap(), apply.getMapOperands());
    if (!expanded)
      return;
    apply.replaceAllUsesWith(expanded->front());
    apply.erase();
  });
}
