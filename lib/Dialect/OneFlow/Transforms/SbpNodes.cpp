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

#include "oneflow/Dialect/OneFlow/IR/Parts.h"

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

/// The name of the variable as the user knows it: the whole's of a part.
static StringAttr variableNameOf(ReadOp read) {
  auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(
      read, read.getVariableAttr());
  if (variable && variable.getPartAttr())
    return variable.getPartAttr().getWhole();
  return read.getVariableAttr().getAttr();
}

/// The op's number if it is a part of one that was taken apart, else the op.
static const void *identityOf(Operation *op) {
  if (auto number = op->getAttrOfType<IntegerAttr>(kPackedAttrName))
    return number.getAsOpaquePointer();
  return op;
}

static std::string nameOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return "";
  if (auto read = dyn_cast<ReadOp>(op))
    return variableNameOf(read).str();
  if (auto input = dyn_cast<InputOp>(op))
    return input.getName().str();
  // A cast that belongs to no node stands for what it casts.
  if (isa<CastOp>(op) && nodeNameOf(op->getLoc()).empty())
    return nameOf(op->getOperand(0));
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
        key = variableNameOf(read).getAsOpaquePointer();
      else if (producer && producer->hasAttr(kPackedAttrName))
        key = identityOf(producer);
      auto [entry, isNew] = known.try_emplace(key, node.operands.size());
      if (isNew)
        node.operands.push_back({nameOf(value), {}});
      node.operands[entry->second].uses.push_back(&use);
    }
}

static void findResults(StringRef name, SbpNode &node) {
  const void *last = identityOf(node.ops.back());
  // Where the results of an op begin.
  llvm::DenseMap<const void *, size_t> known;
  for (Operation *op : node.ops) {
    const void *key = identityOf(op);
    if (key != last && llvm::none_of(op->getUsers(), [&](Operation *user) {
          return nodeNameOf(user->getLoc()) != name;
        }))
      continue;
    auto [entry, isNew] = known.try_emplace(key, node.results.size());
    if (isNew)
      node.results.resize(node.results.size() + op->getNumResults());
    for (OpResult result : op->getResults())
      node.results[entry->second + result.getResultNumber()].push_back(result);
  }
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
