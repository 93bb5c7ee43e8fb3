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
#include "oneflow/Interfaces/SourceName.h"
#include "oneflow/Sbp/Boxing.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace oneflow;

void oneflow::explainBoxing(ModuleOp module, raw_ostream &out) {
  out << "function\tstep\tfrom\tto\ttensor\tbytes\tmicroseconds\tsource\n";
  for (auto function : module.getOps<func::FuncOp>()) {
    function.walk([&](BoxingOp boxing) {
      SignatureAttr signature = boxing.getSignatureAttr();
      PlacementOp placement =
          lookupPlacement(boxing, boxing.getPlacementAttr());
      if (!signature || !placement)
        return;
      sbp::NdSbp from = signature.getOperands()[0].toNdSbp();
      sbp::NdSbp to = signature.getResults()[0].toNdSbp();
      auto type = cast<RankedTensorType>(boxing.getType());
      int64_t elementBytes = std::max<int64_t>(
          type.getElementType().getIntOrFloatBitWidth() / 8, 1);
      sbp::Mesh mesh = placement.getMesh();
      std::vector<sbp::Link> links(mesh.size());
      std::string step = "exchange";
      sbp::BoxingCost cost;
      if (!boxing.getSourceAttr()) {
        auto steps =
            sbp::planBoxing(from, to, shapeOf(boxing.getResult()), mesh);
        if (steps) {
          step.clear();
          for (const sbp::BoxingStep &part : *steps) {
            step +=
                (step.empty() ? "" : "+") + std::string(toString(part.kind));
            sbp::BoxingCost own = sbp::stepCost(
                part, shapeOf(boxing.getResult()), elementBytes, mesh, links);
            cost.bytesMoved += own.bytesMoved;
            cost.seconds += own.seconds;
          }
        }
      }
      out << function.getName() << "\t" << step << "\t" << sbp::toString(from)
          << "\t" << sbp::toString(to) << "\t" << type << "\t"
          << cost.bytesMoved << "\t" << llvm::format("%.2f", cost.seconds * 1e6)
          << "\t" << sourceLocation(boxing.getLoc()) << "\n";
    });
  }
}
