//===- PrecisionList.cpp - who computes in what ---------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See PrecisionList.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/Transforms/PrecisionList.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace oneflow;

PrecisionList::PrecisionList() {
  // What a low type is made for: half the bytes, and devices multiply it
  // faster. Products are summed in f32.
  for (StringRef name : {"matmul", "convolution"})
    precisions[name] = OpPrecision::Low;
  // What leaves the range of f16 soon, or loses digits when it is summed.
  for (StringRef name :
       {"exp", "log", "sqrt", "erf", "softmax", "log_softmax", "cross_entropy",
        "layer_norm", "rms_norm", "batch_norm", "reduce"})
    precisions[name] = OpPrecision::High;
}

/// The ops that a list may name: those of a model's forward computation, less
/// casts, which say themselves what they compute in. In alphabetical order.
static SmallVector<StringRef> knownNames(MLIRContext *context) {
  SmallVector<StringRef> names;
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (name.getDialectNamespace() == OneFlowDialect::getDialectNamespace() &&
        name.hasInterface<LocalOpInterface>() &&
        name.hasInterface<GradientOpInterface>() &&
        name.getStringRef() != CastOp::getOperationName())
      names.push_back(name.stripDialect());
  llvm::sort(names);
  return names;
}

std::optional<PrecisionList> PrecisionList::parse(MLIRContext *context,
                                                  StringRef text,
                                                  std::string &mistake) {
  PrecisionList list;
  llvm::StringSet<> seen;
  SmallVector<StringRef> entries;
  text.split(entries, ',');
  if (text.trim().empty())
    return list;
  SmallVector<StringRef> known = knownNames(context);
  for (StringRef entry : entries) {
    auto [name, word] = entry.split('=');
    name = name.trim();
    word = word.trim();
    auto precision = llvm::StringSwitch<std::optional<OpPrecision>>(word)
                         .Case("low", OpPrecision::Low)
                         .Case("high", OpPrecision::High)
                         .Case("follow", OpPrecision::Follow)
                         .Default(std::nullopt);
    if (name.empty() || !precision) {
      mistake = "expected op=low, op=high or op=follow, got: '" +
                entry.trim().str() + "'";
      return std::nullopt;
    }
    if (!llvm::is_contained(known, name)) {
      mistake = "no op '" + name.str() +
                "' computes in a type of its choice; expected one of " +
                llvm::join(known, ", ");
      return std::nullopt;
    }
    if (!seen.insert(name).second) {
      mistake = "'" + name.str() + "' is named twice";
      return std::nullopt;
    }
    list.precisions[name] = *precision;
  }
  return list;
}

OpPrecision PrecisionList::of(Operation *op) const {
  if (op->getName().getDialectNamespace() !=
      OneFlowDialect::getDialectNamespace())
    return OpPrecision::Follow;
  auto known = precisions.find(op->getName().stripDialect());
  return known == precisions.end() ? OpPrecision::Follow : known->second;
}
