//===- SimulatedBoxing.h - boxing on simulated ranks ------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Carries out boxing steps on simulated ranks, message by message: a collective
// sees its group only, an exchange follows the rules of the runtime. What a
// rank holds is a set of elements, so tensors have 64 of them at most.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_UNIT_SBP_SIMULATEDBOXING_H
#define ONEFLOW_TEST_UNIT_SBP_SIMULATEDBOXING_H

#include "Simulate.h"
#include "oneflow/Sbp/Boxing.h"

#include <set>

namespace oneflow::sbp::test {

/// A set of elements, by their position in the dense tensor.
using Elements = uint64_t;

inline int64_t countOf(Elements elements) {
  return __builtin_popcountll(elements);
}
template <typename Body> void forEachElement(Elements elements, Body body) {
  for (; elements; elements &= elements - 1)
    body(static_cast<size_t>(__builtin_ctzll(elements)));
}

/// What a state means for every rank of a mesh.
struct HeldByRanks {
  NdSbp state;
  std::vector<Elements> elements;
  /// Number of each rank's part of the partial value, and how many there are.
  std::vector<int64_t> part;
  int64_t parts;
  std::vector<std::vector<int64_t>> coords;

  HeldByRanks(const NdSbp &state, const Shape &shape, const Mesh &mesh)
      : state(state), parts(partCount(state, mesh)) {
    for (int64_t rank = 0; rank < rankCount(mesh); ++rank) {
      coords.push_back(coordinates(mesh, rank));
      part.push_back(partIndex(state, mesh, coords.back()));
      Elements own = 0;
      forEachIndex(localIntervals(state, shape, mesh, coords.back()),
                   [&](const Index &index) {
                     own |= Elements{1} << flatten(index, wholeBox(shape));
                   });
      elements.push_back(own);
    }
  }
};

/// Makes each HeldByRanks once.
class HeldCache {
public:
  HeldCache(Shape shape, Mesh mesh)
      : shape(std::move(shape)), mesh(std::move(mesh)) {}

  const HeldByRanks &operator[](const NdSbp &state) {
    auto known = held.find(state);
    if (known == held.end())
      known = held.emplace(state, HeldByRanks(state, shape, mesh)).first;
    return known->second;
  }

  const Shape shape;
  const Mesh mesh;

private:
  std::map<NdSbp, HeldByRanks> held;
};

/// The values of a tensor on the ranks of a mesh; those that a rank does not
/// hold are unspecified.
struct SpreadTensor {
  const HeldByRanks *held = nullptr;
  std::vector<std::vector<double>> values;

  static SpreadTensor of(const Tensor &global, const HeldByRanks &held,
                         Random &random) {
    SpreadTensor result{&held, {}};
    result.values.assign(held.elements.size(),
                         std::vector<double>(global.values.size()));
    for (size_t i = 0; i < global.values.size(); ++i) {
      std::vector<double> parts = randomParts(
          global.values[i], reducerOf(held.state), held.parts, random);
      for (size_t rank = 0; rank < result.values.size(); ++rank)
        result.values[rank][i] = parts[static_cast<size_t>(held.part[rank])];
    }
    return result;
  }

  /// True when the ranks hold `global`: copies agree and parts reduce to it.
  bool isSpread(const Tensor &global) const {
    Reducer reducer = reducerOf(held->state);
    auto parts = static_cast<size_t>(held->parts);
    std::vector<double> value(parts);
    for (size_t i = 0; i < global.values.size(); ++i) {
      uint64_t seen = 0;
      for (size_t rank = 0; rank < values.size(); ++rank) {
        if (!(held->elements[rank] >> i & 1))
          continue;
        auto part = static_cast<size_t>(held->part[rank]);
        if (!(seen >> part & 1))
          value[part] = values[rank][i];
        else if (value[part] != values[rank][i])
          return false;
        seen |= uint64_t{1} << part;
      }
      if (seen != (uint64_t{1} << parts) - 1)
        return false;
      double reduced = value[0];
      for (size_t part = 1; part < parts; ++part)
        reduced = reduce(reducer, reduced, value[part]);
      if (reduced != global.values[i])
        return false;
    }
    return true;
  }
};

/// What carrying out a step showed, in elements.
struct Observed {
  /// Over all messages between different ranks.
  int64_t moved = 0;
  /// The most that a rank holds of operand, result and messages.
  int64_t peak = 0;
  /// Empty, or what a rank lacked.
  std::string failure;
};

/// True when the pieces already lie one after the other in the buffer that they
/// divide, so that they need no packing.
inline bool liesInOrder(const std::vector<Elements> &pieces) {
  Elements before = 0;
  for (Elements piece : pieces) {
    if (piece && before > (piece & -piece))
      return false;
    if (piece)
      before = piece;
  }
  return true;
}

/// A step along one axis within a placement.
inline Observed runCollective(const BoxingStep &step, SpreadTensor &tensor,
                              const HeldByRanks &next, const Mesh &mesh) {
  const HeldByRanks &held = *tensor.held;
  auto axis = static_cast<size_t>(step.axis);
  size_t ranks = held.elements.size(), stride = 1;
  for (size_t later = axis + 1; later < mesh.size(); ++later)
    stride *= static_cast<size_t>(mesh[later]);
  auto size = static_cast<size_t>(mesh[axis]);
  Reducer from = reducerOf(step.from), to = reducerOf(step.to);
  double neutral = neutralElement(to);
  bool idempotent = to == Reducer::Max || to == Reducer::Min;

  Observed observed;
  auto values = tensor.values;
  for (size_t rank = 0; rank < ranks; ++rank) {
    size_t index = static_cast<size_t>(held.coords[rank][axis]);
    size_t first = rank - index * stride;
    Elements own = held.elements[rank], result = next.elements[rank];
    std::vector<Elements> packed, unpacked;
    for (size_t other = 0; other < size; ++other) {
      size_t peer = first + other * stride;
      if (step.kind == StepKind::ReduceScatter ||
          step.kind == StepKind::AllToAll)
        packed.push_back(own & next.elements[peer]);
      if (step.kind == StepKind::AllGather || step.kind == StepKind::AllToAll)
        unpacked.push_back(held.elements[peer] & result);
    }
    int64_t messages = (liesInOrder(packed) ? 0 : countOf(own)) +
                       (liesInOrder(unpacked) ? 0 : countOf(result));
    observed.peak =
        std::max(observed.peak, countOf(own) + countOf(result) + messages);
    // What this rank sends to each other.
    for (size_t other = 0; other < size; ++other) {
      if (other == index)
        continue;
      size_t peer = first + other * stride;
      auto chunk = [&](size_t member) {
        return plan::balancedSplit(countOf(own), mesh[axis],
                                   static_cast<int64_t>(member))
            .extent;
      };
      switch (step.kind) {
      case StepKind::AllGather:
        observed.moved += countOf(own);
        break;
      case StepKind::ReduceScatter:
      case StepKind::AllToAll:
        observed.moved += countOf(own & next.elements[peer]);
        break;
      case StepKind::AllReduce:
        // First the peer's chunk, to be reduced there, then the own result.
        observed.moved += chunk(other) + chunk(index);
        break;
      default:
        break;
      }
    }
    // What comes out, from what the group holds.
    forEachElement(result, [&](size_t i) {
      double &value = values[rank][i];
      bool has = own >> i & 1;
      if (step.to[axis].isPartial()) {
        if (step.from[axis].isSplit())
          value = has ? tensor.values[rank][i] : neutral;
        else
          value = index == 0 || idempotent ? tensor.values[rank][i] : neutral;
        return;
      }
      std::optional<double> found;
      for (size_t other = 0; other < size; ++other) {
        size_t peer = first + other * stride;
        if (!(held.elements[peer] >> i & 1))
          continue;
        double part = tensor.values[peer][i];
        found = found && step.from[axis].isPartial()
                    ? reduce(from, *found, part)
                    : found.value_or(part);
      }
      if (!found)
        observed.failure = "needs data outside its group";
      value = found.value_or(0);
    });
  }
  tensor.values = std::move(values);
  tensor.held = &next;
  return observed;
}

/// Ranks of the two ends begin at these.
struct FirstRanks {
  int64_t source = 0, target = 0;
};

/// The exchange as the runtime does it: see lib/Runtime/Exchange.cpp.
inline Observed runExchange(SpreadTensor &tensor, const HeldByRanks &next,
                            FirstRanks first) {
  const HeldByRanks &held = *tensor.held;
  auto ranksOf = [](const HeldByRanks &side) {
    return static_cast<int64_t>(side.elements.size());
  };
  Reducer from = reducerOf(held.state), to = reducerOf(next.state);
  auto getsValue = [&](const std::vector<int64_t> &coords) {
    if (to == Reducer::Max || to == Reducer::Min)
      return true;
    for (size_t axis = 0; axis < coords.size(); ++axis)
      if (next.state[axis].isPartial() && coords[axis] != 0)
        return false;
    return true;
  };
  auto sendsTo = [&](int64_t sender, int64_t receiver) {
    if (sender == receiver)
      return true;
    bool firstCopy = true;
    int64_t index = receiver - first.source;
    bool isCopy = index >= 0 && index < ranksOf(held);
    const auto &at = held.coords[static_cast<size_t>(sender - first.source)];
    for (size_t axis = 0; axis < at.size(); ++axis) {
      if (held.state[axis].isBroadcast())
        firstCopy &= at[axis] == 0;
      else
        isCopy =
            isCopy && held.coords[static_cast<size_t>(index)][axis] == at[axis];
    }
    return firstCopy && !isCopy;
  };

  Observed observed;
  std::map<int64_t, int64_t> memory;
  std::map<int64_t, std::set<Elements>> outgoing;
  for (int64_t i = 0; i < ranksOf(held); ++i)
    memory[first.source + i] += countOf(held.elements[static_cast<size_t>(i)]);
  std::vector<std::vector<double>> values(
      next.elements.size(), std::vector<double>(tensor.values.front().size()));
  for (size_t to_ = 0; to_ < next.elements.size(); ++to_) {
    int64_t receiver = first.target + static_cast<int64_t>(to_);
    Elements needed = next.elements[to_];
    memory[receiver] += countOf(needed);
    if (!getsValue(next.coords[to_])) {
      forEachElement(needed,
                     [&](size_t i) { values[to_][i] = neutralElement(to); });
      continue;
    }
    std::vector<int64_t> parts(values[to_].size());
    for (size_t at = 0; at < held.elements.size(); ++at) {
      int64_t sender = first.source + static_cast<int64_t>(at);
      Elements box = held.elements[at] & needed;
      if (!box || !sendsTo(sender, receiver))
        continue;
      memory[receiver] += countOf(box);
      if (sender != receiver) {
        observed.moved += countOf(box);
        outgoing[sender].insert(box);
      }
      forEachElement(box, [&](size_t i) {
        double part = tensor.values[at][i];
        values[to_][i] = parts[i]++ ? reduce(from, values[to_][i], part) : part;
      });
    }
    forEachElement(needed, [&](size_t i) {
      if (parts[i] != held.parts)
        observed.failure = "got " + std::to_string(parts[i]) + " parts of " +
                           std::to_string(held.parts);
    });
  }
  for (auto &[rank, boxes] : outgoing)
    for (Elements box : boxes)
      memory[rank] += countOf(box);
  for (auto [rank, elements] : memory)
    observed.peak = std::max(observed.peak, elements);
  tensor.values = std::move(values);
  tensor.held = &next;
  return observed;
}

} // namespace oneflow::sbp::test

#endif // ONEFLOW_TEST_UNIT_SBP_SIMULATEDBOXING_H
