//===- InferSbp.cpp - choose SBP signatures -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Settles what is pinned in the module, then chooses the rest function by
// function.
//
//===----------------------------------------------------------------------===//

#include "SbpSelection.h"

#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

namespace oneflow {
#define GEN_PASS_DEF_INFERSBPPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

namespace {

struct InferSbpPass : oneflow::impl::InferSbpPassBase<InferSbpPass> {
  using InferSbpPassBase::InferSbpPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::vector<std::string> texts(hints.begin(), hints.end());
    // Functions share variables, and nothing else: once their storage is
    // settled, the order of the functions makes no difference.
    FailureOr<SbpPins> pins = SbpPins::collect(module, texts);
    if (failed(pins))
      return signalPassFailure();
    bool ok = true;
    for (auto function : module.getOps<func::FuncOp>()) {
      SbpSelection selection(function, *pins);
      if (failed(selection.run())) {
        ok = false;
        continue;
      }
      selection.write();
      if (explain)
        selection.explain();
    }
    if (!ok)
      return signalPassFailure();
    for (VariableOp variable : module.getOps<VariableOp>())
      variable.setStorageAttr(
          NdSbpAttr::get(&getContext(), pins->storageOf(variable)));
  }
};

} // namespace
