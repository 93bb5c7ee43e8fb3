//===- PlanMemory.cpp - offsets in the arena ------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See PlanMemoryPass in Passes.td.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/Transforms/OffsetPacking.h"
#include "oneflow/Dialect/Actor/Transforms/Passes.h"
#include "oneflow/Dialect/Actor/Transforms/TokenGraph.h"
#include "oneflow/Plan/KernelAbi.h"

#include "llvm/ADT/EquivalenceClasses.h"

namespace oneflow::actor {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "oneflow/Dialect/Actor/Transforms/Passes.h.inc"
} // namespace oneflow::actor

using namespace mlir;
using namespace oneflow::actor;

static void addWorkspaces(GraphOp graph) {
  graph.walk([](LaunchOp launch) {
    Operation *kernel =
        SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr());
    auto bytes = kernel
                     ? kernel->getAttrOfType<IntegerAttr>("oneflow.workspace")
                     : IntegerAttr();
    if (!bytes || bytes.getInt() == 0)
      return;
    OpBuilder builder(launch->getParentOfType<TaskOp>());
    Value workspace = ScratchOp::create(
        builder, launch.getLoc(), BufferType::get(launch.getContext()),
        "workspace", bytes.getInt(), IntegerAttr());
    launch.getBuffersMutable().append(workspace);
  });
}

namespace {

/// Buffers that are planned as one: a kernel's result in its operand's place.
class Groups {
public:
  explicit Groups(ArrayRef<Value> buffers) {
    for (Value buffer : buffers)
      members[buffer] = {buffer}, leader[buffer] = buffer;
  }
  Value find(Value buffer) { return leader.lookup(buffer); }
  ArrayRef<Value> getMembers(Value root) { return members[root]; }
  void join(Value root, Value other) {
    for (Value member : members[other])
      leader[member] = root, members[root].push_back(member);
    members.erase(other);
  }

private:
  DenseMap<Value, SmallVector<Value>> members;
  DenseMap<Value, Value> leader;
};

class MemoryPlanner {
public:
  MemoryPlanner(GraphOp graph) : graph(graph), tokens(graph), groups({}) {
    for (Operation &op : graph.getBody().front()) {
      if (!isa<RegisterOp, ScratchOp>(op))
        continue;
      if (getBytes(op.getResult(0)) > 0)
        buffers.push_back(op.getResult(0));
    }
    groups = Groups(buffers);
  }

  void run(bool report);

private:
  void shareInPlace();
  /// Every use of every member of a is before, or is, `at`.
  bool endsAt(Value root, const Use &at);
  bool conflict(Value a, Value b);

  GraphOp graph;
  TokenGraph tokens;
  SmallVector<Value> buffers;
  Groups groups;
};

} // namespace

bool MemoryPlanner::endsAt(Value root, const Use &at) {
  return llvm::all_of(groups.getMembers(root), [&](Value member) {
    return llvm::all_of(tokens.getUses(member), [&](const Use &use) {
      return use.op == at.op || tokens.isBefore(use, at);
    });
  });
}

void MemoryPlanner::shareInPlace() {
  for (TaskOp task : tokens.getTasks()) {
    for (auto launch : task.getBody().front().getOps<LaunchOp>()) {
      unsigned firstResult = launch.getFirstResult();
      for (unsigned result = firstResult; result < launch.getBuffers().size();
           ++result) {
        Value target = launch.getBuffers()[result];
        // A result that has a place already, or is written elsewhere too,
        // stays.
        if (!groups.find(target) ||
            groups.getMembers(groups.find(target)).size() > 1)
          continue;
        for (unsigned operand = 0; operand < firstResult; ++operand) {
          Value source = launch.getBuffers()[operand];
          Value root = groups.find(source);
          if (!root || root == groups.find(target) ||
              getBytes(source) != getBytes(target) ||
              !mayShare(launch, operand, result))
            continue;
          ArrayRef<Use> uses = tokens.getUses(source);
          const Use *here = llvm::find_if(
              uses, [&](const Use &use) { return use.op == launch; });
          // The launch must be the end of the operand and the begin of the
          // result, and read the operand nowhere else in the group.
          bool readOnce =
              llvm::count_if(launch.getBuffers(), [&](Value buffer) {
                return groups.find(buffer) == root;
              }) == 1;
          bool begins =
              llvm::all_of(tokens.getUses(target), [&](const Use &use) {
                return use.op == launch || tokens.isBefore(*here, use);
              });
          if (!readOnce || !begins || !endsAt(root, *here))
            continue;
          groups.join(root, groups.find(target));
          break;
        }
      }
    }
  }
}

bool MemoryPlanner::conflict(Value a, Value b) {
  auto allOrdered = [&](Value first, Value second) {
    for (Value x : groups.getMembers(first))
      for (Value y : groups.getMembers(second))
        for (const Use &before : tokens.getUses(x))
          for (const Use &after : tokens.getUses(y))
            if (!tokens.isBefore(before, after))
              return false;
    return true;
  };
  return !allOrdered(a, b) && !allOrdered(b, a);
}

void MemoryPlanner::run(bool report) {
  shareInPlace();
  SmallVector<Value> roots;
  std::vector<int64_t> sizes;
  for (Value buffer : buffers) {
    if (groups.find(buffer) != buffer)
      continue;
    roots.push_back(buffer);
    sizes.push_back(getBytes(buffer));
  }
  Packing packing = packOffsets(
      sizes, [&](size_t a, size_t b) { return conflict(roots[a], roots[b]); },
      ONEFLOW_BUFFER_ALIGNMENT);
  OpBuilder builder(graph.getContext());
  int64_t total = 0;
  for (auto [root, offset] : llvm::zip(roots, packing.offsets))
    for (Value member : groups.getMembers(root)) {
      total += getBytes(member);
      member.getDefiningOp()->setAttr("offset",
                                      builder.getI64IntegerAttr(offset));
    }
  graph.walk([&](RegisterOp reg) {
    if (!reg.getOffset())
      reg.setOffset(0);
  });
  graph.setArenaBytes(packing.bytes);
  if (report)
    graph.emitRemark() << "arena of " << packing.bytes << " bytes for "
                       << buffers.size() << " buffers of " << total << " bytes";
}

namespace {
struct PlanMemoryPass
    : oneflow::actor::impl::PlanMemoryPassBase<PlanMemoryPass> {
  using PlanMemoryPassBase::PlanMemoryPassBase;
  void runOnOperation() override {
    for (auto graph : getOperation().getOps<GraphOp>()) {
      addWorkspaces(graph);
      if (SmallVector<TaskOp> cycle = TokenGraph(graph).findCycle();
          !cycle.empty()) {
        cycle.front().emitOpError("waits for itself; memory cannot be planned");
        return signalPassFailure();
      }
      MemoryPlanner(graph).run(report);
    }
  }
};
} // namespace
