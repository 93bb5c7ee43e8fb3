//===- InferSbp.cpp - choose SBP signatures -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Settles what is pinned in the module, then chooses the rest, then spreads
// what training keeps.
//
//===----------------------------------------------------------------------===//

#include "SbpSelection.h"
#include "SbpWarnings.h"

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
    if (zero > 3) {
      emitError(module.getLoc()) << "option zero: expected a stage of at most "
                                    "3, got: "
                                 << static_cast<unsigned>(zero);
      return signalPassFailure();
    }
    std::vector<std::string> texts(hints.begin(), hints.end());
    FailureOr<SbpPins> pins = SbpPins::collect(module, texts);
    if (failed(pins))
      return signalPassFailure();
    warnOfPins(module, *pins);
    SbpSelection selection(module, *pins);
    if (failed(selection.run(explain)) ||
        (zero > 0 && failed(selection.shardStorages(zero))))
      return signalPassFailure();
    selection.write();
    SbpPins::eraseAttributes(module);
    if (explain)
      selection.explain();
  }
};

} // namespace
