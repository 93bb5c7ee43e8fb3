//===- BoxingCases.cpp - every row of the boxing table --------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints a module that takes tensors of one to four dimensions (and a scalar)
// through pairs of states that the algebra allows. The cases come from the
// algebra, so that no row of its table can be forgotten: along one mesh axis
// every ordered pair, along several an even choice of at most kPairs per
// tensor.
//
//   boxing-cases 3           both states on one placement of 3 ranks
//   boxing-cases 2x2         on one placement of two axes
//   boxing-cases 2 3         from 2 ranks to 3 others
//   boxing-cases 2x2 4@0     to a placement of 4 ranks that begins at rank 0
//
// Each function is one tensor. Its inputs named "x..." hold that tensor;
// "parts" holds kParts tensors, whose reduction is what a partial state stands
// for: each rank reduces its own, so that parts differ. The output "FROM -> TO"
// is the value after the change.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Sbp.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace oneflow::sbp;

namespace {

/// Tensors that a partial value is the reduction of: one or more per rank for
/// up to seven ranks, on most of them unevenly. boxing_values.py knows it too.
constexpr int64_t kParts = 7;
/// More pairs than one axis has for any tensor here, and few enough for
/// several.
constexpr size_t kPairs = 160, kPairsOfSeveralAxes = 48;

struct Case {
  const char *element;
  Shape shape;
};

/// Extents even and uneven for each number of ranks from 2 to 5.
const Case kCases[] = {
    {"f64", {}},        {"f64", {12}},          {"i64", {7}},
    {"f32", {10, 12}},  {"f64", {7, 9}},        {"i64", {6, 5, 8}},
    {"f32", {5, 7, 6}}, {"f64", {8, 6, 5, 10}}, {"f32", {6, 5, 7, 5}},
};

struct Placement {
  std::string name;
  Mesh mesh;
  int64_t first = 0;

  int64_t end() const { return first + rankCount(mesh); }
  void print() const {
    static const char *const axes[] = {"x", "y", "z"};
    std::string text;
    for (size_t axis = 0; axis < mesh.size(); ++axis)
      text += (axis ? ", " : "") + std::string(axes[axis]) + " = " +
              std::to_string(mesh[axis]);
    std::printf("oneflow.placement %s cpu [%s] from %lld\n", name.c_str(),
                text.c_str(), static_cast<long long>(first));
  }
};

std::string tensorType(const Case &test, int64_t leading = 0) {
  std::string text = "tensor<";
  if (leading)
    text += std::to_string(leading) + "x";
  for (int64_t extent : test.shape)
    text += std::to_string(extent) + "x";
  return text + test.element + ">";
}

/// What one axis may be, legal or not: splits of each dimension, also in blocks
/// of two and three, whole, and partial by each reducer.
std::vector<Sbp> axisStates(const Shape &shape) {
  std::vector<Sbp> states;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    for (int64_t block : {1, 2, 3})
      states.push_back(Sbp::split(static_cast<int64_t>(dim), block));
  states.push_back(Sbp::broadcast());
  for (Reducer reducer :
       {Reducer::Sum, Reducer::Max, Reducer::Min, Reducer::Prod})
    states.push_back(Sbp::partial(reducer));
  return states;
}

/// Every legal state on a mesh.
std::vector<NdSbp> legalStates(const Shape &shape, const Mesh &mesh) {
  std::vector<NdSbp> states = {{}};
  for (size_t axis = 0; axis < mesh.size(); ++axis) {
    std::vector<NdSbp> extended;
    for (const NdSbp &state : states)
      for (const Sbp &next : axisStates(shape)) {
        extended.push_back(state);
        extended.back().push_back(next);
      }
    states = std::move(extended);
  }
  states.erase(
      std::remove_if(states.begin(), states.end(),
                     [&](const NdSbp &state) {
                       return checkLegal(state, shape, mesh).has_value();
                     }),
      states.end());
  return states;
}

bool hasPartial(const NdSbp &state) {
  return std::any_of(state.begin(), state.end(),
                     [](const Sbp &axis) { return axis.isPartial(); });
}
bool hasBlocks(const NdSbp &state) {
  return std::any_of(state.begin(), state.end(),
                     [](const Sbp &axis) { return axis.block != 1; });
}

/// The last state of `states` that splits where `state` has whole copies and is
/// equal elsewhere; whole copies everywhere where there is none.
NdSbp splitCopies(const NdSbp &state, const std::vector<NdSbp> &states) {
  NdSbp best(state.size(), Sbp::broadcast());
  for (const NdSbp &candidate : states) {
    bool fits = candidate != state;
    for (size_t axis = 0; axis < state.size(); ++axis)
      fits &= state[axis].isBroadcast() ? candidate[axis].isSplit()
                                        : candidate[axis] == state[axis];
    if (fits)
      best = candidate;
  }
  return best;
}

class Printer {
public:
  Printer(Placement source, Placement target, bool isSame)
      : source(std::move(source)), target(std::move(target)), isSame(isSame) {}

  void printModule() {
    source.print();
    if (!isSame)
      target.print();
    for (const Case &test : kCases)
      printFunction(test);
  }

private:
  static std::string signature(const std::string &from, const std::string &to) {
    return " sbp (" + from + ") -> (" + to + ") : ";
  }

  /// Prints an op with one result and returns its name.
  std::string define(const std::string &op) {
    std::string name = "%" + std::to_string(values++);
    std::printf("  %s = %s\n", name.c_str(), op.c_str());
    return name;
  }

  /// A value in state `from`, which is not both partial and split in blocks.
  std::string makeSource(const Case &test, const NdSbp &from,
                         const std::string &whole) {
    std::string type = tensorType(test), text = toString(from),
                on = " on " + source.name;
    if (hasPartial(from)) {
      NdSbp parts;
      for (const Sbp &axis : from)
        parts.push_back(axis.isPartial() ? Sbp::split(0)
                        : axis.isSplit() ? Sbp::split(axis.dim + 1)
                                         : axis);
      Reducer reducer =
          std::find_if(from.begin(), from.end(), [](const Sbp &axis) {
            return axis.isPartial();
          })->reducer;
      std::string partsType = tensorType(test, kParts);
      std::string input = define("oneflow.input \"parts " + text + "\"" + on +
                                 signature("", toString(parts)) + partsType);
      return define("oneflow.reduce <" + std::string(toString(reducer)) + "> " +
                    input + " dims [0]" + on +
                    signature(toString(parts), text) + "(" + partsType +
                    ") -> " + type);
    }
    if (hasBlocks(from)) // Inputs are not split in blocks.
      return define("oneflow.boxing " + whole + on +
                    signature(toString(NdSbp(from.size())), text) + type);
    return define("oneflow.input \"x " + text + "\"" + on +
                  signature("", text) + type);
  }

  void printFunction(const Case &test) {
    std::string name = test.element;
    for (int64_t extent : test.shape)
      name += "_" + std::to_string(extent);
    std::printf("func.func @%s() {\n", name.c_str());
    values = 0;
    std::string type = tensorType(test), on = " on " + target.name;
    std::string whole =
        define("oneflow.input \"x\" on " + source.name +
               signature("", toString(NdSbp(source.mesh.size()))) + type);

    std::vector<NdSbp> sources = legalStates(test.shape, source.mesh);
    sources.erase(std::remove_if(sources.begin(), sources.end(),
                                 [](const NdSbp &state) {
                                   return hasPartial(state) && hasBlocks(state);
                                 }),
                  sources.end());
    std::vector<NdSbp> targets = legalStates(test.shape, target.mesh);
    size_t pairs = sources.size() * targets.size();
    size_t limit = source.mesh.size() > 1 || target.mesh.size() > 1
                       ? kPairsOfSeveralAxes
                       : kPairs + targets.size();
    // Odd, so that it runs through both lists however long they are.
    size_t stride = pairs <= limit ? 1 : (pairs / limit) | 1;
    for (size_t number = 0; number < pairs;) {
      const NdSbp &from = sources[number / targets.size()];
      std::string value;
      for (size_t end = (number / targets.size() + 1) * targets.size();
           number < end; number += stride) {
        const NdSbp &to = targets[number % targets.size()];
        if (isSame && from == to)
          continue;
        if (value.empty())
          value = makeSource(test, from, whole);
        // The op wants `to`, so the way there is the compiler's. From whole
        // copies on, each rank hands in a part of its own, so that every copy
        // counts.
        std::string result = define(
            "oneflow.boxing " + value + on +
            signature(toString(to), toString(splitCopies(to, targets))) + type);
        std::printf("  oneflow.output \"%s -> %s\" %s%s : %s\n",
                    toString(from).c_str(), toString(to).c_str(),
                    result.c_str(), on.c_str(), type.c_str());
      }
    }
    std::printf("  return\n}\n");
  }

  Placement source, target;
  bool isSame;
  int values = 0;
};

/// Parses "2x3@4"; false when it is not that.
bool parse(const char *text, Placement &placement) {
  char *end = nullptr;
  do {
    placement.mesh.push_back(std::strtoll(text, &end, 10));
    if (end == text || placement.mesh.back() < 1 || placement.mesh.size() > 3)
      return false;
    text = end + 1;
  } while (*end == 'x');
  if (*end == '@')
    placement.first = std::strtoll(text, &end, 10);
  return *end == '\0' && placement.first >= 0 &&
         rankCount(placement.mesh) <= kParts;
}

} // namespace

int main(int argc, char **argv) {
  Placement source{"@mesh", {}, 0}, target{"@tail", {}, 0};
  bool ok = argc >= 2 && argc <= 3 && parse(argv[1], source);
  target.first = ok ? source.end() : 0;
  if (ok && argc == 3)
    ok = parse(argv[2], target);
  if (!ok) {
    std::fprintf(stderr,
                 "usage: boxing-cases MESH [MESH[@FIRST_RANK]], where MESH is "
                 "such as 3 or 2x2, of at most %lld ranks\n",
                 static_cast<long long>(kParts));
    return 2;
  }
  bool isSame = argc == 2;
  Printer(source, isSame ? source : target, isSame).printModule();
  return 0;
}
