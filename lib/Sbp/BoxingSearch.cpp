//===- BoxingSearch.cpp - shortest paths between states ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See BoxingSearch.h.
//
//===----------------------------------------------------------------------===//

#include "BoxingSearch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace oneflow::sbp {

/// Beyond this many states the splits that neither end has are left out.
static constexpr size_t kMostStates = 1 << 13;
/// Beyond this many pairs of states fewer are tried across placements.
static constexpr size_t kMostCrossings = 1 << 10;

BoxingSearch::BoxingSearch(const BoxingRequest &request, int64_t boundBytes)
    : request(request), boundBytes(boundBytes) {
  if (request.samePlacement()) {
    addLayer(request.source, StepPlace::Source, {&request.from, &request.to});
  } else {
    addLayer(request.source, StepPlace::Source, {&request.from});
    addLayer(request.target, StepPlace::Target, {&request.to});
  }
  Layer &source = *layers.front(), &target = *layers.back();
  size_t from = indexOf(source, request.from);
  size_t to = indexOf(target, request.to);
  start = source.first + from;
  goal = target.first + to;
  // A way that holds the whole tensor on every rank is no way where neither
  // end does.
  mayUnsplit = !layoutAt(source, from)->splits || !layoutAt(target, to)->splits;
  if (layers.size() > 1)
    chooseCrossings();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

void BoxingSearch::addLayer(const RankMesh &ranks, StepPlace place,
                            const std::vector<const NdSbp *> &ends) {
  layers.push_back(std::make_unique<Layer>(request.shape, ranks));
  Layer &layer = *layers.back();
  layer.place = place;
  size_t axes = ranks.sizes.size();
  layer.candidates.resize(axes);
  auto add = [&](size_t axis, const Sbp &sbp) {
    std::vector<Sbp> &choices = layer.candidates[axis];
    if (std::find(choices.begin(), choices.end(), sbp) == choices.end())
      choices.push_back(sbp);
  };
  size_t states = 1;
  for (size_t axis = 0; axis < axes; ++axis) {
    for (const NdSbp *end : ends)
      add(axis, (*end)[axis]);
    add(axis, Sbp::broadcast());
    states = std::min(
        states * (layer.candidates[axis].size() + request.shape.size()),
        kMostStates + 1);
  }
  if (states <= kMostStates)
    for (size_t axis = 0; axis < axes; ++axis)
      for (size_t dim = 0; dim < request.shape.size(); ++dim)
        if (ranks.sizes[axis] > 1 && request.shape[dim] >= ranks.sizes[axis])
          add(axis, Sbp::split(static_cast<int64_t>(dim)));
  for (const std::vector<Sbp> &choices : layer.candidates)
    layer.count *= choices.size();
  layer.layouts.resize(layer.count);
  if (layers.size() > 1)
    layer.first = layers.front()->count;
}

size_t BoxingSearch::indexOf(const Layer &layer, const NdSbp &state) const {
  size_t index = 0;
  for (size_t axis = 0; axis < state.size(); ++axis) {
    const std::vector<Sbp> &choices = layer.candidates[axis];
    size_t choice = std::find(choices.begin(), choices.end(), state[axis]) -
                    choices.begin();
    index = index * choices.size() + choice;
  }
  return index;
}

const Layout *BoxingSearch::layoutAt(Layer &layer, size_t index) {
  std::unique_ptr<Layout> &layout = layer.layouts[index];
  if (!layout) {
    NdSbp state(layer.candidates.size());
    for (size_t axis = state.size(), left = index; axis-- > 0;) {
      const std::vector<Sbp> &choices = layer.candidates[axis];
      state[axis] = choices[left % choices.size()];
      left /= choices.size();
    }
    layout = std::make_unique<Layout>(layer.maker.layout(std::move(state)));
  }
  bool usable = layout->legal && (mayUnsplit || layout->splits);
  return usable ? layout.get() : nullptr;
}

BoxingSearch::Layer &BoxingSearch::layerOf(size_t node) {
  return node < layers.back()->first ? *layers.front() : *layers.back();
}

//===----------------------------------------------------------------------===//
// Between placements
//===----------------------------------------------------------------------===//

/// Marks where an exchange across may begin or end: at the end's own state, and
/// with parts reduced, copies cut, or values spread before they are padded.
/// Returns how many states there are. `breadth` 2 takes splits of any
/// dimension, 1 of those only that an end splits or that is largest, 0 none.
size_t BoxingSearch::markCrossings(Layer &layer, const NdSbp &end,
                                   int breadth) {
  std::vector<bool> preferred(request.shape.size());
  for (const NdSbp *state : {&request.from, &request.to})
    for (const Sbp &sbp : *state)
      if (sbp.isSplit())
        preferred[sbp.dim] = true;
  auto largest = std::max_element(request.shape.begin(), request.shape.end());
  if (largest != request.shape.end())
    preferred[largest - request.shape.begin()] = true;

  size_t count = 1;
  layer.crosses.clear();
  for (size_t axis = 0; axis < end.size(); ++axis) {
    std::vector<bool> marks;
    for (const Sbp &sbp : layer.candidates[axis]) {
      bool cuts = sbp.isSplit() && !end[axis].isSplit() &&
                  (breadth > 1 || (breadth == 1 && preferred[sbp.dim]));
      bool reduces = sbp.isBroadcast() && end[axis].isPartial() &&
                     layer.place == StepPlace::Source;
      marks.push_back(sbp == end[axis] || cuts || reduces);
    }
    count *= std::count(marks.begin(), marks.end(), true);
    layer.crosses.push_back(std::move(marks));
  }
  return count;
}

void BoxingSearch::chooseCrossings() {
  Layer &source = *layers.front(), &target = *layers.back();
  for (int breadth = 2; breadth >= 0; --breadth)
    if (markCrossings(source, request.from, breadth) *
            markCrossings(target, request.to, breadth) <=
        kMostCrossings)
      break;
  for (size_t index = 0; index < target.count; ++index)
    if (crossesAt(target, index) && layoutAt(target, index))
      landings.push_back(target.first + index);
}

bool BoxingSearch::crossesAt(const Layer &layer, size_t index) const {
  for (size_t axis = layer.candidates.size(); axis-- > 0;) {
    size_t choices = layer.candidates[axis].size();
    if (!layer.crosses[axis][index % choices])
      return false;
    index /= choices;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

BoxingSearch::Weight BoxingSearch::plus(const Weight &weight,
                                        const BoxingCost &cost) const {
  // Whole picoseconds, so that equal ways compare equal, and a nanosecond per
  // step, so that the fewest steps win among them.
  int64_t time = std::llround(cost.seconds * 1e12) + 1000;
  if (least == Least::Time)
    return {weight.primary + time, weight.secondary + cost.bytesMoved};
  return {weight.primary + cost.bytesMoved, weight.secondary + time};
}

void BoxingSearch::relax(size_t node, size_t next, const BoxingStep &step) {
  if (step.peakBytes > boundBytes)
    return;
  Weight reached = plus(best[node], step.cost);
  if (!(reached < best[next]) || !(reached < best[goal]))
    return;
  best[next] = reached;
  previous[next] = node;
  queue.push_back({reached, next});
  std::push_heap(queue.begin(), queue.end(),
                 [](const auto &a, const auto &b) { return b < a; });
}

/// An exchange may reduce where no part is sent twice; elsewhere it would send
/// every part to every rank that needs the result, which no latency saved makes
/// up for on a larger mesh.
bool BoxingSearch::mayReach(const Layout &from, const Layout &to,
                            const RankMesh &ranks) const {
  return from.partials == 1 || exchangeCopies(to.state, ranks.sizes) == 1;
}

/// Between placements each axis changes once on either side of the exchange
/// across, which is a change of everything already: that keeps the bytes to
/// those of the table, and the search short.
bool BoxingSearch::mayChange(const Layer &layer, size_t axis,
                             const Sbp &current, const Sbp &next) const {
  switch (layers.size() == 1 ? StepPlace::Across : layer.place) {
  case StepPlace::Source:
    return current == request.from[axis];
  case StepPlace::Target:
    return next == request.to[axis];
  case StepPlace::Across:
    return true;
  }
  return true;
}

void BoxingSearch::expandAxes(Layer &layer, size_t index,
                              const Layout &layout) {
  BoxingStep step;
  size_t stride = 1;
  for (size_t axis = layer.candidates.size(); axis-- > 0;) {
    const std::vector<Sbp> &choices = layer.candidates[axis];
    size_t current = index / stride % choices.size();
    for (size_t choice = 0; choice < choices.size(); ++choice) {
      size_t next = index + choice * stride - current * stride;
      if (choice == current || settled[layer.first + next] ||
          !mayChange(layer, axis, choices[current], choices[choice]))
        continue;
      std::optional<StepKind> kind =
          axisStepKind(layout.state, axis, choices[choice]);
      const Layout *target = kind ? layoutAt(layer, next) : nullptr;
      if (!target)
        continue;
      step.kind = *kind;
      step.axis = static_cast<int64_t>(axis);
      costAxisStep(step, layout, *target, layer.maker, request.elementBytes);
      relax(layer.first + index, layer.first + next, step);
    }
    stride *= choices.size();
  }
}

void BoxingSearch::expandToGoal(Layer &layer, size_t index,
                                const Layout &layout) {
  const Layout &target = *layoutAt(layer, goal - layer.first);
  if (!mayReach(layout, target, layer.maker.ranks) ||
      collectiveAxis(layout.state, target.state))
    return;
  BoxingStep step;
  costExchange(step, layout, layer.maker, target, layer.maker,
               request.elementBytes);
  relax(layer.first + index, goal, step);
}

void BoxingSearch::expandAcross(size_t node, const Layout &layout) {
  Layer &target = *layers.back();
  for (size_t landing : landings) {
    const Layout &to = *layoutAt(target, landing - target.first);
    if (!mayReach(layout, to, target.maker.ranks))
      continue;
    BoxingStep step;
    costExchange(step, layout, layers.front()->maker, to, target.maker,
                 request.elementBytes);
    relax(node, landing, step);
  }
}

BoxingStep BoxingSearch::stepBetween(size_t node, size_t next) {
  Layer &source = layerOf(node), &target = layerOf(next);
  const Layout &from = *layoutAt(source, node - source.first);
  const Layout &to = *layoutAt(target, next - target.first);
  BoxingStep step;
  step.from = from.state;
  step.to = to.state;
  step.place = &source == &target ? source.place : StepPlace::Across;
  std::optional<int64_t> axis;
  if (&source == &target)
    axis = collectiveAxis(from.state, to.state);
  if (axis) {
    step.axis = *axis;
    step.kind = *axisStepKind(from.state, *axis, to.state[*axis]);
    costAxisStep(step, from, to, source.maker, request.elementBytes);
  } else {
    costExchange(step, from, source.maker, to, target.maker,
                 request.elementBytes);
  }
  return step;
}

std::optional<std::vector<BoxingStep>> BoxingSearch::run(Least wanted) {
  least = wanted;
  size_t count = layers.back()->first + layers.back()->count;
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
  best.assign(count, {kFar, kFar});
  previous.assign(count, count);
  settled.assign(count, false);
  queue.assign(1, {{0, 0}, start});
  best[start] = {0, 0};
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(),
                  [](const auto &a, const auto &b) { return b < a; });
    size_t node = queue.back().second;
    queue.pop_back();
    if (settled[node])
      continue;
    settled[node] = true;
    if (node == goal)
      break;
    Layer &layer = layerOf(node);
    size_t index = node - layer.first;
    const Layout &layout = *layoutAt(layer, index);
    if (&layer == layers.back().get())
      expandToGoal(layer, index, layout);
    else if (crossesAt(layer, index))
      expandAcross(node, layout);
    expandAxes(layer, index, layout);
  }
  if (goal != start && previous[goal] == count)
    return std::nullopt;
  std::vector<BoxingStep> steps;
  for (size_t node = goal; node != start; node = previous[node])
    steps.push_back(stepBetween(previous[node], node));
  std::reverse(steps.begin(), steps.end());
  return steps;
}

} // namespace oneflow::sbp
