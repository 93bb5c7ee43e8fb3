//===- Boxing.cpp - from one state to another -------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans a boxing: the one step of the table where a single axis changes and may
// do so by itself, else a shortest path over nd-states.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Boxing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace oneflow::sbp {

std::string_view toString(StepKind kind) {
  switch (kind) {
  case StepKind::Slice:
    return "slice";
  case StepKind::Embed:
    return "embed";
  case StepKind::Dilute:
    return "dilute";
  case StepKind::AllGather:
    return "all-gather";
  case StepKind::AllReduce:
    return "all-reduce";
  case StepKind::ReduceScatter:
    return "reduce-scatter";
  case StepKind::AllToAll:
    return "all-to-all";
  case StepKind::Exchange:
    return "exchange";
  }
  return "unknown";
}

namespace {

/// What does it along one axis, or nullopt for P(r) -> P(q).
std::optional<StepKind> kindOf(const Sbp &from, const Sbp &to) {
  switch (from.kind) {
  case Sbp::Kind::Broadcast:
    return to.isSplit() ? StepKind::Slice : StepKind::Dilute;
  case Sbp::Kind::Split:
    if (to.isSplit())
      return StepKind::AllToAll;
    return to.isBroadcast() ? StepKind::AllGather : StepKind::Embed;
  case Sbp::Kind::Partial:
    if (to.isPartial())
      return std::nullopt;
    return to.isSplit() ? StepKind::ReduceScatter : StepKind::AllReduce;
  }
  return std::nullopt;
}

/// The step from `from` to `to` along `axis`, if it is legal: later axes must
/// not split a dimension it touches, or the group along the axis would not hold
/// what it needs. Axes of size 1 split nothing.
std::optional<BoxingStep> axisStep(const NdSbp &from, const NdSbp &to,
                                   size_t axis, const Mesh &mesh) {
  std::optional<StepKind> kind = kindOf(from[axis], to[axis]);
  if (!kind)
    return std::nullopt;
  auto touches = [&](int64_t dim) {
    return (from[axis].isSplit() && from[axis].dim == dim) ||
           (to[axis].isSplit() && to[axis].dim == dim);
  };
  for (size_t later = axis + 1; later < mesh.size() && mesh[axis] > 1; ++later)
    if (from[later].isSplit() && mesh[later] > 1 && touches(from[later].dim))
      return std::nullopt;
  return BoxingStep{*kind, static_cast<int64_t>(axis), from, to};
}

/// Time, then bytes. Whole picoseconds, so that equal ways compare equal, and a
/// nanosecond per step, so that the fewest steps win among them.
struct Weight {
  int64_t picoseconds = 0;
  int64_t bytes = 0;

  Weight plus(const BoxingCost &cost) const {
    return {picoseconds + std::llround(cost.seconds * 1e12) + 1000,
            bytes + cost.bytesMoved};
  }
  bool operator<(const Weight &other) const {
    return std::tie(picoseconds, bytes) <
           std::tie(other.picoseconds, other.bytes);
  }
};

/// Planning knows no element type; only the ratio of latency to bandwidth
/// depends on it.
constexpr int64_t kPlannedElementBytes = 4;

bool splitsAnything(const NdSbp &state, const Mesh &mesh) {
  for (size_t axis = 0; axis < mesh.size(); ++axis)
    if (state[axis].isSplit() && mesh[axis] > 1)
      return true;
  return false;
}

/// Dijkstra's algorithm over the states in which every axis is one of a few
/// candidates: its source, its target, B, or a split of any dimension.
class StateSearch {
public:
  StateSearch(const NdSbp &from, const NdSbp &to, const Shape &shape,
              const Mesh &mesh)
      : from(from), to(to), shape(shape), mesh(mesh), links(mesh.size()),
        candidates(mesh.size()) {
    // A way that holds the whole tensor on every rank is no way where neither
    // end does: it may not fit.
    mayUnsplit = !splitsAnything(from, mesh) || !splitsAnything(to, mesh);
    for (size_t axis = 0; axis < mesh.size(); ++axis) {
      add(axis, from[axis]);
      add(axis, to[axis]);
      add(axis, Sbp::broadcast());
    }
    // Beyond this many states the splits that neither end has are left out.
    constexpr size_t kMostStates = size_t{1} << 16;
    size_t states = 1;
    for (size_t axis = 0; axis < mesh.size() && states <= kMostStates; ++axis)
      states *= candidates[axis].size() + shape.size();
    if (states > kMostStates)
      return;
    for (size_t axis = 0; axis < mesh.size(); ++axis)
      for (size_t dim = 0; dim < shape.size(); ++dim)
        add(axis, Sbp::split(static_cast<int64_t>(dim)));
  }

  /// The cheapest steps, if there are any cheaper than or equal to `bound`.
  std::optional<std::vector<BoxingStep>> run(const Weight &bound) {
    size_t count = 1;
    for (const std::vector<Sbp> &choices : candidates)
      count *= choices.size();
    size_t start = indexOf(from), goal = indexOf(to);
    legality.assign(count, -1);
    best.assign(count, {std::numeric_limits<int64_t>::max(), 0});
    previous.assign(count, count);
    std::vector<bool> settled(count, false);

    using Entry = std::tuple<Weight, size_t>;
    auto later = [](const Entry &a, const Entry &b) { return b < a; };
    std::priority_queue<Entry, std::vector<Entry>, decltype(later)> queue(
        later);
    best[start] = {};
    queue.push({best[start], start});
    while (!queue.empty()) {
      auto [weight, index] = queue.top();
      queue.pop();
      if (settled[index])
        continue;
      settled[index] = true;
      if (bound < weight)
        return std::nullopt;
      if (index == goal)
        return stepsTo(goal, start);
      NdSbp state = stateOf(index);
      size_t stride = 1;
      for (size_t axis = mesh.size(); axis-- > 0;) {
        size_t current = index / stride % candidates[axis].size();
        for (size_t choice = 0; choice < candidates[axis].size(); ++choice) {
          if (choice == current)
            continue;
          size_t next = index + choice * stride - current * stride;
          if (settled[next])
            continue;
          NdSbp target = state;
          target[axis] = candidates[axis][choice];
          if (next != goal && !isUsable(next, target))
            continue;
          std::optional<BoxingStep> step = axisStep(state, target, axis, mesh);
          if (!step)
            continue;
          Weight reached = weight.plus(
              stepCost(*step, shape, kPlannedElementBytes, mesh, links));
          if (!(reached < best[next]))
            continue;
          best[next] = reached;
          previous[next] = index;
          queue.push({reached, next});
        }
        stride *= candidates[axis].size();
      }
    }
    return std::nullopt;
  }

private:
  void add(size_t axis, const Sbp &sbp) {
    std::vector<Sbp> &choices = candidates[axis];
    if (std::find(choices.begin(), choices.end(), sbp) == choices.end())
      choices.push_back(sbp);
  }

  size_t indexOf(const NdSbp &state) const {
    size_t index = 0;
    for (size_t axis = 0; axis < mesh.size(); ++axis) {
      const std::vector<Sbp> &choices = candidates[axis];
      size_t choice = std::find(choices.begin(), choices.end(), state[axis]) -
                      choices.begin();
      index = index * choices.size() + choice;
    }
    return index;
  }

  NdSbp stateOf(size_t index) const {
    NdSbp state(mesh.size());
    for (size_t axis = mesh.size(); axis-- > 0;) {
      state[axis] = candidates[axis][index % candidates[axis].size()];
      index /= candidates[axis].size();
    }
    return state;
  }

  bool isUsable(size_t index, const NdSbp &state) {
    if (legality[index] < 0)
      legality[index] = (mayUnsplit || splitsAnything(state, mesh)) &&
                        !checkLegal(state, shape, mesh);
    return legality[index] > 0;
  }

  std::vector<BoxingStep> stepsTo(size_t goal, size_t start) const {
    std::vector<BoxingStep> steps;
    for (size_t index = goal; index != start; index = previous[index]) {
      NdSbp source = stateOf(previous[index]), target = stateOf(index);
      for (size_t axis = 0; axis < mesh.size(); ++axis)
        if (source[axis] != target[axis])
          steps.push_back(*axisStep(source, target, axis, mesh));
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  const NdSbp &from;
  const NdSbp &to;
  const Shape &shape;
  const Mesh &mesh;
  std::vector<Link> links;
  std::vector<std::vector<Sbp>> candidates;
  bool mayUnsplit;
  /// Per state: -1 unknown, 0 not to be used, 1 usable.
  std::vector<int8_t> legality;
  std::vector<Weight> best;
  std::vector<size_t> previous;
};

const Sbp *firstPartial(const NdSbp &state) {
  for (const Sbp &sbp : state)
    if (sbp.isPartial())
      return &sbp;
  return nullptr;
}

bool reducesParts(const NdSbp &from, const NdSbp &to, const Mesh &mesh) {
  for (size_t axis = 0; axis < mesh.size(); ++axis)
    if (from[axis].isPartial() && from[axis] != to[axis] && mesh[axis] > 1)
      return true;
  return false;
}

/// planBoxing between legal states.
std::vector<BoxingStep> planLegal(const NdSbp &from, const NdSbp &to,
                                  const Shape &shape, const Mesh &mesh) {
  std::vector<size_t> changed;
  for (size_t axis = 0; axis < mesh.size(); ++axis)
    if (from[axis] != to[axis])
      changed.push_back(axis);
  if (changed.empty())
    return {};
  if (changed.size() == 1)
    if (std::optional<BoxingStep> step =
            axisStep(from, to, changed.front(), mesh))
      return {*step};

  // An exchange would have to reduce by one operation and pad for another: the
  // old parts are reduced first instead.
  const Sbp *oldParts = firstPartial(from);
  const Sbp *newParts = firstPartial(to);
  bool reducersDiffer =
      oldParts && newParts && oldParts->reducer != newParts->reducer;
  StateSearch search(from, to, shape, mesh);
  const Weight unbounded{std::numeric_limits<int64_t>::max(), 0};
  if (reducersDiffer) {
    if (std::optional<std::vector<BoxingStep>> steps = search.run(unbounded))
      return *steps;
    NdSbp state = from;
    std::vector<BoxingStep> steps;
    for (size_t axis = 0; axis < mesh.size(); ++axis) {
      if (!state[axis].isPartial())
        continue;
      NdSbp reduced = state;
      reduced[axis] = Sbp::broadcast();
      steps.push_back(*axisStep(state, reduced, axis, mesh));
      state = reduced;
    }
    for (BoxingStep &step : planLegal(state, to, shape, mesh))
      steps.push_back(std::move(step));
    return steps;
  }

  // Copies go by whichever is faster. Parts are reduced by collectives wherever
  // there is a way: an exchange sends every part to every rank that needs the
  // sum, which no latency saved makes up for on a larger mesh.
  BoxingStep exchange{StepKind::Exchange, -1, from, to};
  Weight bound = unbounded;
  if (!reducesParts(from, to, mesh))
    bound = Weight().plus(stepCost(exchange, shape, kPlannedElementBytes, mesh,
                                   std::vector<Link>(mesh.size())));
  if (std::optional<std::vector<BoxingStep>> steps = search.run(bound))
    return *steps;
  return {exchange};
}

} // namespace

std::optional<std::vector<BoxingStep>>
planBoxing(const NdSbp &from, const NdSbp &to, const Shape &shape,
           const Mesh &mesh, std::string *error) {
  auto check = [&](const char *which, const NdSbp &state) {
    std::optional<std::string> reason = checkLegal(state, shape, mesh);
    if (reason && error)
      *error = "boxing from " + toString(from) + " to " + toString(to) + ": " +
               which + ": " + *reason;
    return !reason;
  };
  if (!check("source", from) || !check("target", to))
    return std::nullopt;
  return planLegal(from, to, shape, mesh);
}

std::optional<BoxingCost> boxingCost(const NdSbp &from, const NdSbp &to,
                                     const Shape &shape, int64_t elementBytes,
                                     const Mesh &mesh,
                                     const std::vector<Link> &links) {
  std::optional<std::vector<BoxingStep>> steps =
      planBoxing(from, to, shape, mesh);
  if (!steps)
    return std::nullopt;
  BoxingCost total;
  for (const BoxingStep &step : *steps) {
    BoxingCost cost = stepCost(step, shape, elementBytes, mesh, links);
    total.bytesMoved += cost.bytesMoved;
    total.seconds += cost.seconds;
  }
  return total;
}

} // namespace oneflow::sbp
