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

#include "oneflow/Dialect/OneFlow/Transforms/BoxingRequest.h"
#include "oneflow/Interfaces/SourceName.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace oneflow;

void oneflow::explainBoxing(ModuleOp module, raw_ostream &out) {
  out << "function\tstep\tfrom\tto\ttensor\tbytes\tmicroseconds\tpeak_bytes\t"
         "bound_bytes\tgather_bytes\tsource\n";
  sbp::BoxingPlans plans;
  for (auto function : module.getOps<func::FuncOp>()) {
    function.walk([&](BoxingOp boxing) {
      std::optional<sbp::BoxingRequest> request = boxingRequest(boxing);
      const sbp::BoxingPlan *plan = findPlanOf(boxing, plans);
      if (!request || !plan)
        return;
      sbp::BoxingStep step = sbp::directStep(*request);
      out << function.getName() << "\t" << toString(step.kind) << "\t"
          << sbp::toString(step.from) << "\t" << sbp::toString(step.to) << "\t"
          << boxing.getType() << "\t" << step.cost.bytesMoved << "\t"
          << llvm::format("%.2f", step.cost.seconds * 1e6) << "\t"
          << step.peakBytes << "\t" << plan->boundBytes << "\t"
          << plan->gatherBytes << "\t" << sourceLocation(boxing.getLoc())
          << "\n";
    });
  }
}
