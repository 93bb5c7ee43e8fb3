//===- BoxingSearch.h - shortest paths between states -----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dijkstra's algorithm over the states of a tensor on the source's ranks and,
// where those are others, on the target's.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_SBP_BOXINGSEARCH_H
#define ONEFLOW_LIB_SBP_BOXINGSEARCH_H

#include "BoxingLayout.h"

#include <memory>

namespace oneflow::sbp {

class BoxingSearch {
public:
  /// What is to be least; the other one breaks ties.
  enum class Least : uint8_t { Time, Bytes };

  /// Requires legal states. No step may take a rank more than `boundBytes`.
  BoxingSearch(const BoxingRequest &request, int64_t boundBytes);

  /// The best steps. There always are some when the bound is twice what the
  /// fullest rank holds at both ends:
  /// 1. all-reducing each partial axis of the source takes operand and result,
  ///    each as large as the source, which stays within twice the source;
  /// 2. what is left reduces nothing, and sends parts of the source to make up
  ///    the target: one step that takes at most twice each.
  /// Neither moves more than gathering everything does, where each rank also
  /// gets what it does not need.
  std::optional<std::vector<BoxingStep>> run(Least least);

private:
  /// The states on one placement in which every axis is one of a few
  /// candidates: its end's, B, or a split of any dimension.
  struct Layer {
    Layer(const Shape &shape, const RankMesh &ranks) : maker(shape, ranks) {}

    LayoutMaker maker;
    StepPlace place = StepPlace::Source;
    std::vector<std::vector<Sbp>> candidates;
    /// Whether an exchange across may begin, or end, with that candidate.
    std::vector<std::vector<bool>> crosses;
    /// Index of the first state among all layers'.
    size_t first = 0;
    size_t count = 1;
    /// Made when they are reached.
    std::vector<std::unique_ptr<Layout>> layouts;
  };
  struct Weight {
    int64_t primary, secondary;

    bool operator<(const Weight &other) const {
      return primary != other.primary ? primary < other.primary
                                      : secondary < other.secondary;
    }
  };

  void addLayer(const RankMesh &ranks, StepPlace place,
                const std::vector<const NdSbp *> &ends);
  void chooseCrossings();
  size_t markCrossings(Layer &layer, const NdSbp &end, int breadth);
  bool crossesAt(const Layer &layer, size_t index) const;
  size_t indexOf(const Layer &layer, const NdSbp &state) const;
  /// Null where the state is not to be used.
  const Layout *layoutAt(Layer &layer, size_t index);
  bool mayReach(const Layout &from, const Layout &to,
                const RankMesh &ranks) const;
  /// Takes the step if it is within the bound and improves on what is known.
  void relax(size_t node, size_t next, const BoxingStep &step);
  bool mayChange(const Layer &layer, size_t axis, const Sbp &current,
                 const Sbp &next) const;
  void expandAxes(Layer &layer, size_t index, const Layout &layout);
  void expandToGoal(Layer &layer, size_t index, const Layout &layout);
  void expandAcross(size_t node, const Layout &layout);
  Layer &layerOf(size_t node);
  BoxingStep stepBetween(size_t node, size_t next);
  Weight plus(const Weight &weight, const BoxingCost &cost) const;

  const BoxingRequest &request;
  const int64_t boundBytes;
  std::vector<std::unique_ptr<Layer>> layers;
  /// Nodes of the last layer at which an exchange across may end.
  std::vector<size_t> landings;
  bool mayUnsplit = true;
  size_t start = 0, goal = 0;

  Least least = Least::Time;
  std::vector<Weight> best;
  std::vector<size_t> previous;
  std::vector<bool> settled;
  std::vector<std::pair<Weight, size_t>> queue;
};

} // namespace oneflow::sbp

#endif // ONEFLOW_LIB_SBP_BOXINGSEARCH_H
