//===- BoxingPairs.cpp - which pairs of states to test --------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoxingPairs.h"

#include "../unit/Sbp/LegalStates.h"

#include <algorithm>
#include <random>

using namespace oneflow;
using namespace oneflow::sbp;

namespace oneflow::test {

std::string toString(const Placement &placement) {
  std::string text;
  for (size_t axis = 0; axis < placement.mesh.size(); ++axis)
    text += (axis ? "x" : "") + std::to_string(placement.mesh[axis]);
  return text + "@" + std::to_string(placement.first);
}

std::string toString(const Tensor &tensor) {
  std::string text = tensor.element;
  for (int64_t extent : tensor.shape)
    text += "_" + std::to_string(extent);
  return text;
}

std::string typeOf(const Tensor &tensor, int64_t leading) {
  std::string text = "tensor<";
  if (leading)
    text += std::to_string(leading) + "x";
  for (int64_t extent : tensor.shape)
    text += std::to_string(extent) + "x";
  return text + tensor.element + ">";
}

std::vector<Tensor> manyTensors() {
  return {{"f64", {}},           {"f64", {12}},
          {"i64", {7}},          {"f32", {2}},
          {"f32", {10, 12}},     {"f64", {7, 9}},
          {"i64", {2, 3}},       {"i64", {6, 5, 8}},
          {"f32", {5, 7, 6}},    {"f64", {8, 6, 5, 10}},
          {"f32", {6, 2, 7, 5}}, {"i1", {7, 10}}};
}

bool hasPartial(const NdSbp &state) {
  return std::any_of(state.begin(), state.end(),
                     [](const Sbp &axis) { return axis.isPartial(); });
}
bool hasBlocks(const NdSbp &state) {
  return std::any_of(state.begin(), state.end(),
                     [](const Sbp &axis) { return axis.block != 1; });
}

static bool hasOtherReducer(const NdSbp &state) {
  return std::any_of(state.begin(), state.end(), [](const Sbp &axis) {
    return axis.isPartial() && axis.reducer != Reducer::Sum;
  });
}

std::vector<NdSbp> legalStates(const Shape &shape, const Mesh &mesh,
                               bool onlySum) {
  std::vector<Sbp> choices;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    choices.push_back(Sbp::split(static_cast<int64_t>(dim)));
    if (mesh.size() == 1)
      choices.push_back(Sbp::split(static_cast<int64_t>(dim), 2));
  }
  choices.push_back(Sbp::broadcast());
  for (Reducer reducer :
       {Reducer::Sum, Reducer::Max, Reducer::Min, Reducer::Prod})
    if (!onlySum || reducer == Reducer::Sum)
      choices.push_back(Sbp::partial(reducer));
  return sbp::test::legalStatesOf(choices, shape, mesh);
}

std::vector<Pair> allPairs(const Tensor &tensor, const Placement &source,
                           const Placement &target, Reducers reducers) {
  bool onlySum = reducers == Reducers::Sum;
  std::vector<Pair> pairs;
  std::vector<NdSbp> targets = legalStates(tensor.shape, target.mesh, onlySum);
  for (const NdSbp &from : legalStates(tensor.shape, source.mesh, onlySum))
    for (const NdSbp &to : targets) {
      if (source == target && from == to)
        continue;
      if (reducers == Reducers::OtherThanSum && !hasOtherReducer(from) &&
          !hasOtherReducer(to))
        continue;
      pairs.push_back({tensor, source, target, from, to});
    }
  return pairs;
}

namespace {
/// The same numbers with every standard library.
class Random {
public:
  size_t below(size_t limit) { return engine() % limit; }
  template <typename List> auto &oneOf(List &list) {
    return list[below(list.size())];
  }

private:
  std::mt19937_64 engine{20260101};
};
} // namespace

std::vector<Pair> sample(std::vector<Pair> pairs, size_t count) {
  Random random;
  std::vector<Pair> chosen;
  // Each with the chance that leaves enough behind it: as likely as any.
  for (size_t i = 0; i < pairs.size() && count > 0; ++i)
    if (random.below(pairs.size() - i) < count) {
      chosen.push_back(std::move(pairs[i]));
      --count;
    }
  return chosen;
}

std::vector<Pair> pairsOfPlacements(size_t count, int64_t ranks) {
  const std::vector<Mesh> meshes = {{1},    {2},    {3},    {4},      {5},
                                    {6},    {8},    {2, 2}, {2, 3},   {3, 2},
                                    {2, 4}, {4, 2}, {2, 1}, {2, 2, 2}};
  std::vector<Tensor> tensors = manyTensors();
  Random random;
  auto place = [&] {
    while (true) {
      const Mesh &mesh = random.oneOf(meshes);
      int64_t room = ranks - rankCount(mesh);
      if (room >= 0)
        return Placement{mesh, static_cast<int64_t>(random.below(room + 1))};
    }
  };
  auto fits = [](const Placement &a, const Placement &b, size_t kind) {
    if (kind == 0)
      return a.end() <= b.first || b.end() <= a.first;
    bool sameRanks = a.first == b.first && a.end() == b.end();
    if (kind == 2)
      return sameRanks && a.mesh != b.mesh;
    return !sameRanks && a.first < b.end() && b.first < a.end();
  };
  std::vector<Pair> pairs;
  for (size_t number = 0; number < count; ++number) {
    Placement source = place(), target = place();
    while (!fits(source, target, number % 3)) {
      source = place();
      target = place();
    }
    for (int change = 0; change < 2; ++change) {
      const Tensor &tensor = random.oneOf(tensors);
      std::vector<NdSbp> from = legalStates(tensor.shape, source.mesh, false);
      std::vector<NdSbp> to = legalStates(tensor.shape, target.mesh, false);
      pairs.push_back(
          {tensor, source, target, random.oneOf(from), random.oneOf(to)});
    }
  }
  // By tensor, since a function of the module has one.
  std::vector<Pair> grouped;
  for (const Tensor &tensor : tensors)
    for (const Pair &pair : pairs)
      if (toString(pair.tensor) == toString(tensor))
        grouped.push_back(pair);
  return grouped;
}

std::vector<NdSbp> waySplittingCopies(const NdSbp &state, const Shape &shape,
                                      const Mesh &mesh) {
  NdSbp best = state;
  for (const NdSbp &candidate : legalStates(shape, mesh, false)) {
    bool fits = true;
    for (size_t axis = 0; axis < state.size(); ++axis) {
      fits &= state[axis].isBroadcast() ? candidate[axis].isSplit()
                                        : candidate[axis] == state[axis];
      // To split what a later axis splits already moves data, which is not what
      // this is about.
      for (size_t later = axis + 1; later < state.size(); ++later)
        fits &= state[axis] == candidate[axis] || !state[later].isSplit() ||
                state[later].dim != candidate[axis].dim;
    }
    if (fits)
      best = candidate;
  }
  // Each state between is legal, since it splits less than the last.
  std::vector<NdSbp> way = {state};
  for (size_t axis = 0; axis < state.size(); ++axis)
    if (best[axis] != state[axis]) {
      way.push_back(way.back());
      way.back()[axis] = best[axis];
    }
  return way;
}

} // namespace oneflow::test
