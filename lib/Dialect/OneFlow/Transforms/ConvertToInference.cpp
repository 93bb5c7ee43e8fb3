//===- ConvertToInference.cpp - remove what only training needs -----------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Drops dropouts that have no step, in functions that update nothing.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace oneflow {
#define GEN_PASS_DEF_CONVERTTOINFERENCEPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

namespace {
struct ConvertToInferencePass
    : oneflow::impl::ConvertToInferencePassBase<ConvertToInferencePass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      bool updates =
          function.walk([](UpdateOp) { return WalkResult::interrupt(); })
              .wasInterrupted();
      if (updates)
        continue;
      function.walk([](DropoutOp dropout) {
        if (dropout.getStep())
          return;
        dropout.replaceAllUsesWith(dropout.getX());
        dropout.erase();
      });
    }
  }
};
} // namespace
