//===- Actor/IR/Timetable.h - who acts where and how often ------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The phases of a graph, the ranks that its tasks act on, and the order in
// which those ranks go through the phases.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ACTOR_IR_TIMETABLE_H
#define ONEFLOW_DIALECT_ACTOR_IR_TIMETABLE_H

#include "oneflow/Dialect/Actor/IR/Actor.h"

#include "llvm/ADT/MapVector.h"

namespace oneflow::actor {

/// An action of a phase.
struct Step {
  unsigned phase;
  int64_t action;
};

/// Ranks that no placement of the graph tells apart: they run the same tasks.
/// What holds for one rank of a group holds for all, so analyses go group by
/// group and their cost does not depend on the number of ranks.
class Timetable {
public:
  /// What is not valid in the graph (an unknown phase or placement) is left
  /// out: its verifier reports it.
  explicit Timetable(GraphOp graph);

  unsigned getPhaseCount() const { return phases.size(); }
  /// Empty for the only phase of a graph that names none.
  llvm::StringRef getPhaseName(unsigned phase) const {
    return phases[phase].name;
  }
  int64_t getActions(unsigned phase) const { return phases[phase].actions; }
  /// The phase of a task; nullopt when it names none that there is.
  std::optional<unsigned> findPhase(TaskOp task) const;
  int64_t getActions(TaskOp task) const;

  unsigned getGroupCount() const { return groups.size(); }
  /// The groups of a placement's ranks, ascending; empty for an unknown one.
  llvm::ArrayRef<unsigned> getGroups(mlir::FlatSymbolRefAttr placement) const;
  /// The groups on whose ranks the task acts: an exchange on those of both its
  /// placements.
  llvm::SmallVector<unsigned> getGroups(TaskOp task) const;
  /// The groups on whose ranks `op`, in `task`, touches its `access`-th buffer:
  /// an exchange has its source on the ranks of one placement, its target on
  /// those of the other.
  llvm::ArrayRef<unsigned> getGroups(TaskOp task, mlir::Operation *op,
                                     unsigned access) const;
  /// "ranks 0-3 (@stage0)", for messages.
  std::string describe(unsigned group) const;

  /// The steps of the ranks of a group: those of the first schedule that has
  /// them, without one all phases in their order.
  llvm::ArrayRef<Step> getSteps(unsigned group) const {
    return groups[group].steps;
  }
  ScheduleOp getSchedule(unsigned group) const {
    return groups[group].schedule;
  }
  /// The steps that a schedule names; unknown phases are left out.
  llvm::SmallVector<Step> getSteps(ScheduleOp schedule) const;

private:
  struct Phase {
    llvm::StringRef name;
    int64_t actions;
  };
  struct Group {
    llvm::SmallVector<std::pair<int64_t, int64_t>> ranges;
    llvm::SmallVector<mlir::FlatSymbolRefAttr> placements;
    llvm::SmallVector<Step> steps;
    ScheduleOp schedule;
  };

  void addPlacement(GraphOp graph, mlir::FlatSymbolRefAttr symbol);
  void makeGroups();

  llvm::SmallVector<Phase> phases;
  llvm::StringMap<unsigned> phaseIndex;
  llvm::MapVector<mlir::Attribute, std::pair<int64_t, int64_t>> ranges;
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<unsigned>> groupsOf;
  std::vector<Group> groups;
};

/// The placement on whose ranks `op`, in `task`, touches its `access`-th
/// buffer.
mlir::FlatSymbolRefAttr getPlacement(TaskOp task, mlir::Operation *op,
                                     unsigned access);

/// The one exchange that a task consists of; null for other tasks.
ExchangeOp getExchange(TaskOp task);

} // namespace oneflow::actor

#endif // ONEFLOW_DIALECT_ACTOR_IR_TIMETABLE_H
