//===- Explain.cpp - why data moves ---------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Explain.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Pipelines/Explain.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Dialect/OneFlow/Transforms/BoxingRequest.h"
#include "oneflow/Interfaces/SourceName.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace oneflow;

/// What computes the losses and scores of a step; the rest are its gradients
/// and updates.
static llvm::DenseSet<Operation *> forwardOf(func::FuncOp function) {
  llvm::DenseSet<Operation *> forward;
  SmallVector<Operation *> open;
  function.walk([&](OutputOp output) {
    // Without an optimizer gradients are outputs, too.
    if (!output.getName().ends_with(".gradient"))
      open.push_back(output);
  });
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    if (!forward.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        open.push_back(producer);
  }
  return forward;
}

/// True where `op`, which is not forward, is computed from what an optimizer
/// updates, or from its state alone.
static bool isOptimizers(Operation *op) {
  SmallVector<Operation *> open = {op};
  llvm::DenseSet<Operation *> seen;
  bool dependsOnInput = false;
  while (!open.empty()) {
    Operation *at = open.pop_back_val();
    if (!seen.insert(at).second)
      continue;
    dependsOnInput |= isa<InputOp>(at);
    if (isa<SgdUpdateOp, AdamWUpdateOp>(at))
      return true;
    for (Value operand : at->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        open.push_back(producer);
  }
  return !dependsOnInput;
}

void oneflow::explainBoxing(ModuleOp module, raw_ostream &out) {
  out << "function\tpass\tstep\tfrom\tto\ttensor\tbytes\tmicroseconds\t"
         "peak_bytes\tbound_bytes\tgather_bytes\tsource\n";
  sbp::BoxingPlans plans;
  for (auto function : module.getOps<func::FuncOp>()) {
    llvm::DenseSet<Operation *> forward = forwardOf(function);
    int64_t steps = 0, bytes = 0, peak = 0;
    double seconds = 0;
    function.walk([&](BoxingOp boxing) {
      std::optional<sbp::BoxingRequest> request = boxingRequest(boxing);
      const sbp::BoxingPlan *plan = findPlanOf(boxing, plans);
      if (!request || !plan)
        return;
      sbp::BoxingStep step = sbp::directStep(*request);
      StringRef pass = forward.contains(boxing) ? "forward"
                       : isOptimizers(boxing)   ? "optimizer"
                                                : "backward";
      out << function.getName() << "\t" << pass << "\t" << toString(step.kind)
          << "\t" << sbp::toString(step.from) << "\t" << sbp::toString(step.to)
          << "\t" << boxing.getType() << "\t" << step.cost.bytesMoved << "\t"
          << llvm::format("%.2f", step.cost.seconds * 1e6) << "\t"
          << step.peakBytes << "\t" << plan->boundBytes << "\t"
          << plan->gatherBytes << "\t" << sourceLocation(boxing.getLoc())
          << "\n";
      ++steps;
      bytes += step.cost.bytesMoved;
      seconds += step.cost.seconds;
      peak = std::max<int64_t>(peak, step.peakBytes);
    });
    out << function.getName() << "\t\ttotal\t\t\t\t" << bytes << "\t"
        << llvm::format("%.2f", seconds * 1e6) << "\t" << peak << "\t\t\t"
        << steps << (steps == 1 ? " step\n" : " steps\n");
  }
}
