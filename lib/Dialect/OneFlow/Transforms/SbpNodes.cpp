//===- SbpNodes.cpp - nodes as users name them ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See SbpNodes.h. Names are those of locations.
//
//===----------------------------------------------------------------------===//

#include "SbpNodes.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace oneflow;

FlatSymbolRefAttr oneflow::variableOf(Operation *op) {
  if (auto read = dyn_cast<ReadOp>(op))
    return read.getVariableAttr();
  if (auto update = dyn_cast<UpdateOp>(op))
    return update.getVariableAttr();
  if (auto gradient = dyn_cast<GradientOp>(op))
    return gradient.getVariableAttr();
  return {};
}

static std::string nameOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return "";
  if (auto read = dyn_cast<ReadOp>(op))
    return read.getVariable().str();
  if (auto input = dyn_cast<InputOp>(op))
    return input.getName().str();
  return nodeNameOf(op->getLoc()).str();
}

static void findOperands(StringRef name, SbpNode &node) {
  llvm::SmallPtrSet<Operation *, 8> inside(node.ops.begin(), node.ops.end());
  // Reads of one variable are one value, however often it is read.
  llvm::DenseMap<const void *, size_t> known;
  for (Operation *op : node.ops)
    for (OpOperand &use : op->getOpOperands()) {
      Value value = use.get();
      Operation *producer = value.getDefiningOp();
      if (producer && inside.contains(producer))
        continue;
      if (isa_and_nonnull<ConstantOp>(producer) &&
          nodeNameOf(producer->getLoc()) == name)
        continue;
      const void *key = value.getAsOpaquePointer();
      if (auto read = dyn_cast_or_null<ReadOp>(producer))
        key = read.getVariableAttr().getAsOpaquePointer();
      auto [entry, isNew] = known.try_emplace(key, node.operands.size());
      if (isNew)
        node.operands.push_back({nameOf(value), {}});
      node.operands[entry->second].uses.push_back(&use);
    }
}

static void findResults(StringRef name, SbpNode &node) {
  for (Operation *op : node.ops)
    if (op == node.ops.back() ||
        llvm::any_of(op->getUsers(), [&](Operation *user) {
          return nodeNameOf(user->getLoc()) != name;
        }))
      node.results.append(op->result_begin(), op->result_end());
}

llvm::MapVector<StringRef, SbpNode> oneflow::nodesOf(func::FuncOp function) {
  llvm::MapVector<StringRef, SbpNode> nodes;
  StringRef current;
  bool open = false;
  function.walk([&](SpreadOpInterface op) {
    if (isa<InputOp, OutputOp, ReadOp, UpdateOp, GradientOp, ConstantOp>(
            op.getOperation()))
      return;
    StringRef name = nodeNameOf(op.getLoc());
    if (!open || name != current) {
      current = name;
      open = !name.empty() && !nodes.count(name);
    }
    if (open)
      nodes[name].ops.push_back(op);
  });
  for (auto &[name, node] : nodes) {
    findOperands(name, node);
    findResults(name, node);
  }
  return nodes;
}
