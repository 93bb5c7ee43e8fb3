//===- ElideCopies.cpp - variables updated in place -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See ElideCopiesPass in Passes.td.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/Transforms/Passes.h"
#include "oneflow/Dialect/Actor/Transforms/TokenGraph.h"

namespace oneflow::actor {
#define GEN_PASS_DEF_ELIDECOPIESPASS
#include "oneflow/Dialect/Actor/Transforms/Passes.h.inc"
} // namespace oneflow::actor

using namespace mlir;
using namespace oneflow::actor;

/// The launch whose result can be `target` at once instead of `source`, or
/// null.
static LaunchOp findInPlaceWriter(CopyOp copy, SymbolTableCollection &symbols) {
  Value source = copy.getSource(), target = copy.getTarget();
  if (!source.getDefiningOp<ScratchOp>())
    return {};
  Block *task = copy->getBlock();
  LaunchOp writer;
  for (Operation *user : source.getUsers()) {
    if (user->getBlock() != task)
      return {};
    auto launch = dyn_cast<LaunchOp>(user);
    if (!launch)
      continue;
    for (const Access &access : getAccesses(launch))
      if (access.buffer == source && access.writes) {
        if (writer && writer != launch)
          return {};
        writer = launch;
      }
  }
  if (!writer)
    return {};
  // The old value: read by nothing in this task behind the writer, and by the
  // writer only in place. Readers in other tasks are ordered before this one.
  for (Operation *user : target.getUsers()) {
    if (user == copy || user->getBlock() != task)
      continue;
    if (user != writer && !user->isBeforeInBlock(writer))
      return {};
  }
  unsigned result = 0;
  for (auto [index, buffer] : llvm::enumerate(writer.getBuffers()))
    if (buffer == source && index >= writer.getFirstResult())
      result = index;
  for (auto [index, buffer] : llvm::enumerate(writer.getBuffers()))
    if (buffer == target && !mayShare(writer, index, result, symbols))
      return {};
  return writer;
}

namespace {
struct ElideCopiesPass
    : oneflow::actor::impl::ElideCopiesPassBase<ElideCopiesPass> {
  void runOnOperation() override {
    SmallVector<CopyOp> copies;
    getOperation().walk([&](CopyOp copy) { copies.push_back(copy); });
    SymbolTableCollection symbols;
    for (CopyOp copy : copies) {
      if (!findInPlaceWriter(copy, symbols))
        continue;
      Value source = copy.getSource(), target = copy.getTarget();
      copy.erase();
      source.replaceAllUsesWith(target);
      source.getDefiningOp()->erase();
    }
  }
};
} // namespace
