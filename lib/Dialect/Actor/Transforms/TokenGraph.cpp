//===- TokenGraph.cpp - what happens before what --------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See TokenGraph.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/Transforms/TokenGraph.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace oneflow::actor;

TokenGraph::TokenGraph(GraphOp graph) {
  for (auto task : graph.getOps<TaskOp>()) {
    unsigned index = tasks.size();
    tasks.push_back(task);
    for (Value reg : task.getPosts())
      producers.try_emplace(reg, index);
    for (auto [position, op] : llvm::enumerate(task.getBody().front()))
      for (const Access &access : getAccesses(&op))
        uses[access.buffer].push_back(
            {&op, index, static_cast<unsigned>(position), access.writes});
  }
  successors.resize(tasks.size());
  SmallVector<std::pair<int64_t, unsigned>> communications;
  for (auto [index, task] : llvm::enumerate(tasks)) {
    for (Value reg : task.getWaits())
      if (auto producer = producers.find(reg); producer != producers.end())
        successors[producer->second].push_back(index);
    if (task.getOrder() > 0)
      communications.push_back({task.getOrder(), index});
  }
  llvm::sort(communications);
  for (size_t next = 1; next < communications.size(); ++next)
    successors[communications[next - 1].second].push_back(
        communications[next].second);

  behind.assign(tasks.size(), llvm::BitVector(tasks.size()));
  if (!findCycle().empty())
    return;
  // Depth-first post-order: a task's successors are complete before it.
  llvm::BitVector done(tasks.size());
  std::function<void(unsigned)> visit = [&](unsigned task) {
    done.set(task);
    for (unsigned next : successors[task]) {
      if (!done.test(next))
        visit(next);
      behind[task].set(next);
      behind[task] |= behind[next];
    }
  };
  for (unsigned task = 0; task < tasks.size(); ++task)
    if (!done.test(task))
      visit(task);
}

SmallVector<TaskOp> TokenGraph::findCycle() const {
  enum { White, Grey, Black };
  std::vector<char> color(tasks.size(), White);
  SmallVector<unsigned> path;
  SmallVector<TaskOp> cycle;
  std::function<bool(unsigned)> visit = [&](unsigned task) {
    color[task] = Grey;
    path.push_back(task);
    for (unsigned next : successors[task]) {
      if (color[next] == Grey) {
        for (auto *at = llvm::find(path, next); at != path.end(); ++at)
          cycle.push_back(tasks[*at]);
        return true;
      }
      if (color[next] == White && visit(next))
        return true;
    }
    path.pop_back();
    color[task] = Black;
    return false;
  };
  for (unsigned task = 0; task < tasks.size(); ++task)
    if (color[task] == White && visit(task))
      break;
  return cycle;
}

bool TokenGraph::isBefore(const Use &a, const Use &b) const {
  if (a.task == b.task)
    return a.position < b.position;
  return behind[a.task].test(b.task);
}

ArrayRef<Use> TokenGraph::getUses(Value buffer) const {
  auto found = uses.find(buffer);
  return found == uses.end() ? ArrayRef<Use>() : ArrayRef<Use>(found->second);
}

bool TokenGraph::allBefore(Value a, Value b) const {
  return llvm::all_of(getUses(a), [&](const Use &first) {
    return llvm::all_of(
        getUses(b), [&](const Use &second) { return isBefore(first, second); });
  });
}

bool TokenGraph::areOrdered(Value a, Value b) const {
  return allBefore(a, b) || allBefore(b, a);
}

int TokenGraph::getProducer(Value reg) const {
  auto found = producers.find(reg);
  return found == producers.end() ? -1 : static_cast<int>(found->second);
}

bool oneflow::actor::mayShare(LaunchOp launch, unsigned operand,
                              unsigned result) {
  Operation *kernel =
      SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr());
  auto pairs =
      kernel ? kernel->getAttrOfType<ArrayAttr>("oneflow.may_share") : nullptr;
  if (!pairs)
    return false;
  int64_t resultNumber = result - static_cast<int64_t>(launch.getFirstResult());
  return llvm::any_of(
      pairs.getAsRange<DenseI64ArrayAttr>(), [&](DenseI64ArrayAttr pair) {
        return pair.size() == 2 && pair[0] == static_cast<int64_t>(operand) &&
               pair[1] == resultNumber;
      });
}
