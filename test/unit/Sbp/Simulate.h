//===- Simulate.h - tensors on simulated ranks ------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an SBP state means, spelled out element by element: a global tensor
// scattered to the ranks of a mesh, and put together again. Values are small
// integers in doubles, so that every reduction is exact in any order.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_UNIT_SBP_SIMULATE_H
#define ONEFLOW_TEST_UNIT_SBP_SIMULATE_H

#include "oneflow/Sbp/Sbp.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace oneflow::sbp::test {

/// A dense row-major tensor.
struct Tensor {
  Shape shape;
  std::vector<double> values;

  Tensor() = default;
  explicit Tensor(Shape extents)
      : shape(std::move(extents)), values(count(shape)) {}

  static size_t count(const Shape &shape) {
    int64_t product = 1;
    for (int64_t extent : shape)
      product *= extent;
    return static_cast<size_t>(product);
  }
  friend bool operator==(const Tensor &a, const Tensor &b) {
    return a.shape == b.shape && a.values == b.values;
  }
};

using Index = std::vector<int64_t>;
using Random = std::mt19937;

/// Calls `body` for every index of a box, last dimension fastest.
inline void forEachIndex(const std::vector<Interval> &box,
                         const std::function<void(const Index &)> &body) {
  Index index;
  for (const Interval &interval : box) {
    if (interval.extent <= 0)
      return;
    index.push_back(interval.offset);
  }
  while (true) {
    body(index);
    size_t dim = box.size();
    while (dim-- > 0) {
      if (++index[dim] < box[dim].offset + box[dim].extent)
        break;
      index[dim] = box[dim].offset;
      if (dim == 0)
        return;
    }
    if (box.empty())
      return;
  }
}

inline std::vector<Interval> wholeBox(const Shape &shape) {
  std::vector<Interval> box;
  for (int64_t extent : shape)
    box.push_back({0, extent});
  return box;
}

inline Shape extentsOf(const std::vector<Interval> &box) {
  Shape shape;
  for (const Interval &interval : box)
    shape.push_back(interval.extent);
  return shape;
}

/// Position of a global index in the dense tensor of a box.
inline size_t flatten(const Index &index, const std::vector<Interval> &box) {
  int64_t position = 0;
  for (size_t dim = 0; dim < box.size(); ++dim)
    position = position * box[dim].extent + index[dim] - box[dim].offset;
  return static_cast<size_t>(position);
}

inline bool contains(const std::vector<Interval> &box, const Index &index) {
  for (size_t dim = 0; dim < box.size(); ++dim)
    if (index[dim] < box[dim].offset ||
        index[dim] >= box[dim].offset + box[dim].extent)
      return false;
  return true;
}

inline double reduce(Reducer reducer, double a, double b) {
  switch (reducer) {
  case Reducer::Sum:
    return a + b;
  case Reducer::Max:
    return std::max(a, b);
  case Reducer::Min:
    return std::min(a, b);
  case Reducer::Prod:
    return a * b;
  }
  return 0;
}

inline Tensor randomTensor(const Shape &shape, Random &random) {
  Tensor tensor(shape);
  for (double &value : tensor.values)
    value = std::uniform_int_distribution<int>(-4, 4)(random);
  return tensor;
}

/// Random values that reduce to `value`; none is the same as another by design.
inline std::vector<double> randomParts(double value, Reducer reducer,
                                       int64_t parts, Random &random) {
  auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  std::vector<double> result(static_cast<size_t>(parts), value);
  size_t holder = static_cast<size_t>(draw(0, static_cast<int>(parts) - 1));
  for (size_t part = 0; part < result.size(); ++part) {
    if (part == holder)
      continue;
    switch (reducer) {
    case Reducer::Sum:
      result[part] = draw(-4, 4);
      result[holder] -= result[part];
      break;
    case Reducer::Max:
      result[part] = value - draw(0, 4);
      break;
    case Reducer::Min:
      result[part] = value + draw(0, 4);
      break;
    case Reducer::Prod: {
      static const double factors[] = {1, -1, 2, 0.5, -2};
      result[part] = factors[draw(0, 4)];
      result[holder] /= result[part];
      break;
    }
    }
  }
  return result;
}

/// Number of a rank's part among all combinations of partial coordinates.
inline int64_t partIndex(const NdSbp &sbp, const Mesh &mesh,
                         const std::vector<int64_t> &coords) {
  int64_t part = 0;
  for (size_t axis = 0; axis < mesh.size(); ++axis)
    if (sbp[axis].isPartial())
      part = part * mesh[axis] + coords[axis];
  return part;
}

inline int64_t partCount(const NdSbp &sbp, const Mesh &mesh) {
  int64_t parts = 1;
  for (size_t axis = 0; axis < mesh.size(); ++axis)
    if (sbp[axis].isPartial())
      parts *= mesh[axis];
  return parts;
}

/// The reducer of the partial axes; Sum if there are none.
inline Reducer reducerOf(const NdSbp &sbp) {
  for (const Sbp &state : sbp)
    if (state.isPartial())
      return state.reducer;
  return Reducer::Sum;
}

/// What each rank holds of `global` in a legal state; partial values are
/// random.
inline std::vector<Tensor> scatter(const Tensor &global, const NdSbp &sbp,
                                   const Mesh &mesh, Random &random) {
  std::vector<Tensor> parts(static_cast<size_t>(partCount(sbp, mesh)), global);
  for (size_t i = 0; i < global.values.size(); ++i) {
    std::vector<double> values =
        randomParts(global.values[i], reducerOf(sbp),
                    static_cast<int64_t>(parts.size()), random);
    for (size_t part = 0; part < parts.size(); ++part)
      parts[part].values[i] = values[part];
  }
  std::vector<Tensor> ranks;
  for (int64_t rank = 0; rank < rankCount(mesh); ++rank) {
    std::vector<int64_t> coords = coordinates(mesh, rank);
    std::vector<Interval> box = localIntervals(sbp, global.shape, mesh, coords);
    const Tensor &part =
        parts[static_cast<size_t>(partIndex(sbp, mesh, coords))];
    Tensor local(extentsOf(box));
    forEachIndex(box, [&](const Index &index) {
      local.values[flatten(index, box)] =
          part.values[flatten(index, wholeBox(global.shape))];
    });
    ranks.push_back(std::move(local));
  }
  return ranks;
}

/// The global tensor that `ranks` hold in a state; nullopt when it does not
/// describe them: a wrong local shape, copies that differ, or a hole.
inline std::optional<Tensor> assemble(const std::vector<Tensor> &ranks,
                                      const NdSbp &sbp, const Shape &shape,
                                      const Mesh &mesh) {
  size_t parts = static_cast<size_t>(partCount(sbp, mesh));
  std::vector<std::vector<std::optional<double>>> values(
      parts, std::vector<std::optional<double>>(Tensor::count(shape)));
  bool consistent = true;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<int64_t> coords = coordinates(mesh, static_cast<int64_t>(rank));
    std::vector<Interval> box = localIntervals(sbp, shape, mesh, coords);
    if (ranks[rank].shape != extentsOf(box))
      return std::nullopt;
    auto &part = values[static_cast<size_t>(partIndex(sbp, mesh, coords))];
    forEachIndex(box, [&](const Index &index) {
      double value = ranks[rank].values[flatten(index, box)];
      std::optional<double> &known = part[flatten(index, wholeBox(shape))];
      consistent &= !known || *known == value;
      known = value;
    });
  }
  Tensor global(shape);
  for (size_t i = 0; i < global.values.size(); ++i) {
    for (size_t part = 0; part < parts; ++part) {
      if (!values[part][i])
        return std::nullopt;
      global.values[i] =
          part ? reduce(reducerOf(sbp), global.values[i], *values[part][i])
               : *values[part][i];
    }
  }
  if (!consistent)
    return std::nullopt;
  return global;
}

} // namespace oneflow::sbp::test

#endif // ONEFLOW_TEST_UNIT_SBP_SIMULATE_H
