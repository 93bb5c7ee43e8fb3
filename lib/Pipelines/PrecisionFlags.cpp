//===- PrecisionFlags.cpp - precision as typed ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See PrecisionFlags.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Pipelines/PrecisionFlags.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Dialect/OneFlow/Transforms/PrecisionList.h"

using namespace mlir;
using namespace oneflow;

std::optional<std::string> oneflow::checkPrecisionOps(MLIRContext &context,
                                                      StringRef ops) {
  context.loadDialect<OneFlowDialect>();
  std::string mistake;
  if (PrecisionList::parse(&context, ops, mistake))
    return std::nullopt;
  return "--precision-ops: " + mistake;
}
