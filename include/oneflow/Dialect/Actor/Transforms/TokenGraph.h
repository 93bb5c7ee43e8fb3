//===- TokenGraph.h - what waits for what -----------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order that registers, their slots, the schedules and the orders of
// communications impose on the actions of a graph's tasks, and what each buffer
// is used by.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ACTOR_TRANSFORMS_TOKENGRAPH_H
#define ONEFLOW_DIALECT_ACTOR_TRANSFORMS_TOKENGRAPH_H

#include "oneflow/Dialect/Actor/IR/Timetable.h"
#include "oneflow/Dialect/Actor/Transforms/ChainClocks.h"

#include "llvm/ADT/MapVector.h"

#include <memory>
#include <optional>

namespace oneflow::actor {

/// One use of a buffer.
struct Use {
  mlir::Operation *op;
  unsigned task;
  /// Place of the op in its task, and of the buffer among its accesses.
  unsigned position, access;
  bool writes;
};

/// Why an action comes behind another.
enum class Cause { Fill, Credit, Compute, Communication, Channel, Self };

/// Node `after` waits for node `before`.
struct Wait {
  uint32_t before, after;
  Cause cause;
  /// Fill and Credit: the register, and the fill that is waited for or whose
  /// slot is.
  mlir::Value reg;
  int64_t fill = 0;
  /// Compute and Communication: the rank group whose order it is.
  unsigned group = 0;
};

/// The unrolled graph: a node is an action of a task, on all ranks that take
/// part in it at once. A graph without a cycle ends whatever fires first, since
/// the first action, in a topological order, that has not happened has all it
/// waits for.
class TokenGraph {
public:
  explicit TokenGraph(GraphOp graph);

  const Timetable &getTimetable() const { return timetable; }
  mlir::ArrayRef<TaskOp> getTasks() const { return tasks; }
  int64_t getActions(unsigned task) const {
    return firstNode[task + 1] - firstNode[task];
  }
  uint32_t getNode(unsigned task, int64_t action) const {
    return firstNode[task] + static_cast<uint32_t>(action);
  }
  unsigned getTask(uint32_t node) const;
  /// "name", and the action where there are several.
  std::string describe(uint32_t node) const;
  /// Who waits for whom and why, the last one first.
  std::string describe(mlir::ArrayRef<Wait> cycle) const;

  /// A short cycle, each wait's `after` being the next one's `before`; empty
  /// when there is none.
  mlir::SmallVector<Wait> findCycle() const;

  /// All uses of a buffer, in task order.
  mlir::ArrayRef<Use> getUses(mlir::Value buffer) const;
  /// Buffers in the order of their ops.
  mlir::ArrayRef<mlir::Value> getBuffers() const { return buffers; }
  /// Task that posts a register, or -1.
  int getProducer(mlir::Value reg) const;
  /// How often a register is filled in a run.
  int64_t getFills(mlir::Value reg) const;

  /// Groups on whose ranks a task acts, ascending.
  mlir::ArrayRef<unsigned> getGroups(unsigned task) const {
    return groupsOf[task];
  }
  bool isOn(unsigned task, unsigned group) const {
    return llvm::is_contained(groupsOf[task], group);
  }
  /// Groups on whose ranks a buffer is used, ascending.
  mlir::SmallVector<unsigned> getGroups(mlir::Value buffer) const;

  /// Whether action a of one task ends before action b of another begins, on
  /// the ranks of `group`, on which both act, in every firing order. Requires
  /// no cycle.
  ///
  /// Only what these ranks do themselves counts: that a rank's message made
  /// another rank send one back orders nothing here, since it may be that it
  /// went to another rank of that placement.
  bool isBefore(unsigned group, uint32_t a, uint32_t b) const {
    const Local &local = getLocal(group);
    return local.clocks.isBefore(toLocal(local, a), toLocal(local, b));
  }
  /// Whether all actions of two tasks are ordered by one stream or task.
  bool areOnOneChain(unsigned group, unsigned task, unsigned other) const {
    const Local &local = getLocal(group);
    return local.clocks.getChain(local.firstNode[task]) ==
           local.clocks.getChain(local.firstNode[other]);
  }
  /// Place of a node in one firing order of a group's ranks.
  uint32_t getTime(unsigned group, uint32_t node) const {
    const Local &local = getLocal(group);
    return local.clocks.getTime(toLocal(local, node));
  }

private:
  /// The part of the graph that the ranks of one group run.
  struct Local {
    /// By task; of tasks that do not act here meaningless.
    std::vector<uint32_t> firstNode;
    ChainClocks clocks;
  };

  void forEachWait(llvm::function_ref<void(const Wait &)> visit) const;
  void forEachRegisterWait(llvm::function_ref<void(const Wait &)> visit) const;
  void forEachStreamWait(llvm::function_ref<void(const Wait &)> visit) const;
  const Local &getLocal(unsigned group) const;
  uint32_t toLocal(const Local &local, uint32_t node) const {
    unsigned task = taskOf[node];
    return local.firstNode[task] + (node - firstNode[task]);
  }

  Timetable timetable;
  mlir::SmallVector<TaskOp> tasks;
  std::vector<uint32_t> firstNode;
  std::vector<unsigned> taskOf;
  std::vector<mlir::SmallVector<unsigned, 1>> groupsOf;
  /// By group and phase, in their order.
  std::vector<std::vector<mlir::SmallVector<unsigned>>> computes,
      communications;
  /// Transfers by source, target and phase, in their order.
  llvm::MapVector<std::tuple<mlir::Attribute, mlir::Attribute, unsigned>,
                  mlir::SmallVector<unsigned>>
      channels;
  mlir::SmallVector<mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, mlir::SmallVector<Use>> uses;
  llvm::DenseMap<mlir::Value, unsigned> producers;
  Digraph waits;
  mutable std::vector<std::unique_ptr<Local>> locals;
};

/// What a buffer takes of the arena: all slots of a register, each aligned but
/// for the last.
int64_t getPlaceBytes(mlir::Value buffer);

/// Whether the launch may read `operand` and write `result` (places among its
/// buffers) in the same bytes, by the `oneflow.may_share` attribute of its
/// kernel.
bool mayShare(LaunchOp launch, unsigned operand, unsigned result,
              mlir::SymbolTableCollection &symbols);

} // namespace oneflow::actor

#endif // ONEFLOW_DIALECT_ACTOR_TRANSFORMS_TOKENGRAPH_H
