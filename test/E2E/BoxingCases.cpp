//===- BoxingCases.cpp - changes of state, as a module --------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints a module that takes tensors through pairs of states that the algebra
// allows; see BoxingPairs.h.
//
//   boxing-cases 3               both states on one placement of 3 ranks, many
//                                tensors
//   boxing-cases 2x2 f32:5x7     one tensor
//   boxing-cases 2 3             from 2 ranks to 3 others
//   boxing-cases 2x2 4@0         to a placement of 4 ranks from rank 0 on
//   boxing-cases placements=200  pairs of different placements of 8 ranks
//
// "reducers=sum" leaves out what is partial by other reducers, "reducers=other"
// keeps only that; "sample=500" draws that many pairs of each tensor;
// "part=1/4" prints the second quarter of them.
//
// Each function is about one tensor. Its inputs named "x..." hold that tensor;
// "parts" holds kParts tensors, whose reduction is what a partial state stands
// for: each rank reduces its own, so that parts differ. The output "FROM -> TO"
// is the value after the change, and "FROM -> TO" is the location of all ops of
// that change, so that what they cost is found again in --explain and traces.
//
//===----------------------------------------------------------------------===//

#include "BoxingPairs.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

using namespace oneflow::sbp;
using namespace oneflow::test;

namespace {

/// Tensors that a partial value is the reduction of: one or more per rank for
/// up to eight ranks. boxing_values.py knows it too.
constexpr int64_t kParts = 8;
/// Outputs of a function.
constexpr size_t kPairsOfFunction = 200;

class Printer {
public:
  explicit Printer(const std::vector<Pair> &pairs) : pairs(pairs) {
    // oneflow-compile looks for the cluster under this name.
    int64_t ranks = 1;
    for (const Pair &pair : pairs)
      ranks = std::max({ranks, pair.source.end(), pair.target.end()});
    Placement cluster{{ranks}, 0};
    printPlacement("@mesh", pairs.empty() ? cluster : pairs.front().source);
    for (const Pair &pair : pairs) {
      nameOf(pair.source);
      nameOf(pair.target);
    }
  }

  void printModule() {
    for (size_t begin = 0; begin < pairs.size();) {
      size_t end = begin;
      while (end < pairs.size() && end - begin < kPairsOfFunction &&
             toString(pairs[end].tensor) == toString(pairs[begin].tensor))
        ++end;
      printFunction(begin, end);
      begin = end;
    }
  }

private:
  void printPlacement(const std::string &name, const Placement &placement) {
    static const char *const axes[] = {"x", "y", "z"};
    std::string text;
    for (size_t axis = 0; axis < placement.mesh.size(); ++axis)
      text += (axis ? ", " : "") + std::string(axes[axis]) + " = " +
              std::to_string(placement.mesh[axis]);
    std::printf("oneflow.placement %s cpu [%s] from %lld\n", name.c_str(),
                text.c_str(), static_cast<long long>(placement.first));
    known.push_back({placement, name});
  }

  /// Declares it where it is new: only between functions.
  std::string nameOf(const Placement &placement) {
    for (const auto &[each, name] : known)
      if (each == placement)
        return name;
    printPlacement("@p" + std::to_string(known.size()), placement);
    return known.back().second;
  }

  static std::string signature(const std::string &from, const std::string &to) {
    return " sbp (" + from + ") -> (" + to + ") : ";
  }

  /// Prints an op with one result and returns its name.
  std::string define(const std::string &op) {
    std::string name = "%" + std::to_string(values++);
    std::printf("  %s = %s\n", name.c_str(), op.c_str());
    return name;
  }

  /// A value in the pair's source state, which is not both partial and split in
  /// blocks.
  std::string makeSource(const Pair &pair) {
    const NdSbp &from = pair.from;
    std::string type = typeOf(pair.tensor), text = toString(from),
                on = " on " + nameOf(pair.source), label = text + on;
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
      std::string partsType = typeOf(pair.tensor, kParts);
      std::string input = define("oneflow.input \"parts " + label + "\"" + on +
                                 signature("", toString(parts)) + partsType);
      return define("oneflow.reduce <" + std::string(toString(reducer)) + "> " +
                    input + " dims [0]" + on +
                    signature(toString(parts), text) + "(" + partsType +
                    ") -> " + type);
    }
    if (!hasBlocks(from))
      return define("oneflow.input \"x " + label + "\"" + on +
                    signature("", text) + type);
    // Inputs are not split in blocks.
    std::string whole = toString(NdSbp(from.size()));
    std::string input = define("oneflow.input \"x for " + label + "\"" + on +
                               signature("", whole) + type);
    return define("oneflow.boxing " + input + on + signature(whole, text) +
                  type);
  }

  void printFunction(size_t begin, size_t end) {
    std::printf("func.func @%s_%zu() {\n",
                toString(pairs[begin].tensor).c_str(), begin);
    values = 0;
    std::vector<std::pair<const Pair *, std::string>> sources;
    for (size_t number = begin; number < end; ++number) {
      const Pair &pair = pairs[number];
      auto source =
          std::find_if(sources.begin(), sources.end(), [&](const auto &each) {
            return each.first->source == pair.source &&
                   each.first->from == pair.from;
          });
      if (source == sources.end())
        source = sources.insert(sources.end(), {&pair, makeSource(pair)});
      std::string type = typeOf(pair.tensor), on = " on " + nameOf(pair.target);
      std::string name = toString(pair.from) + " -> " + toString(pair.to);
      if (!(pair.source == pairs.front().source) ||
          !(pair.target == pairs.front().target))
        name = toString(pair.from) + " on " + toString(pair.source) + " -> " +
               toString(pair.to) + " on " + toString(pair.target) + ", " +
               std::to_string(number);
      std::string location = " loc(\"" + name + "\")";
      // The first op wants `to`, so the way there is the compiler's.
      std::vector<NdSbp> way =
          waySplittingCopies(pair.to, pair.tensor.shape, pair.target.mesh);
      std::string result = source->second;
      for (size_t step = 0; step < std::max<size_t>(way.size() - 1, 1); ++step)
        result =
            define("oneflow.boxing " + result + on +
                   signature(toString(way[step]),
                             toString(way[way.size() > 1 ? step + 1 : 0])) +
                   type + location);
      std::printf("  oneflow.output \"%s\" %s%s : %s%s\n", name.c_str(),
                  result.c_str(), on.c_str(), type.c_str(), location.c_str());
    }
    std::printf("  return\n}\n");
  }

  const std::vector<Pair> &pairs;
  std::vector<std::pair<Placement, std::string>> known;
  int values = 0;
};

bool parseSizes(std::string_view text, std::vector<int64_t> &sizes) {
  while (!text.empty()) {
    int64_t size = 0;
    size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9' &&
           size < 1000;
         ++digits)
      size = size * 10 + text[digits] - '0';
    if (digits == 0 || size < 1)
      return false;
    sizes.push_back(size);
    text.remove_prefix(digits);
    if (text.empty())
      return true;
    if (text.front() != 'x')
      return false;
    text.remove_prefix(1);
  }
  return false;
}

bool parsePlacement(std::string_view text, Placement &placement) {
  size_t at = text.find('@');
  if (!parseSizes(text.substr(0, at), placement.mesh) ||
      placement.mesh.size() > 3 || rankCount(placement.mesh) > kParts)
    return false;
  if (at == std::string_view::npos)
    return true;
  placement.first = std::atoll(std::string(text.substr(at + 1)).c_str());
  return placement.first >= 0;
}

struct Request {
  std::vector<Placement> placements;
  std::vector<Tensor> tensors;
  Reducers reducers = Reducers::All;
  size_t samples = SIZE_MAX, placementPairs = 0, part = 0, parts = 1;

  bool parse(std::string_view word) {
    auto starts = [&](std::string_view prefix) {
      return word.substr(0, prefix.size()) == prefix;
    };
    auto number = [&] {
      return std::strtoull(word.data() + word.find('=') + 1, nullptr, 10);
    };
    if (starts("sample="))
      return (samples = number()) > 0;
    if (starts("placements="))
      return (placementPairs = number()) > 0;
    if (starts("part=")) {
      size_t slash = word.find('/');
      part = number();
      parts = slash == std::string_view::npos
                  ? 0
                  : std::strtoull(word.data() + slash + 1, nullptr, 10);
      return part < parts;
    }
    if (word == "reducers=sum" || word == "reducers=other") {
      reducers =
          word == "reducers=sum" ? Reducers::Sum : Reducers::OtherThanSum;
      return true;
    }
    size_t colon = word.find(':');
    if (colon != std::string_view::npos) {
      Tensor tensor{std::string(word.substr(0, colon)), {}};
      tensors.push_back(tensor);
      return parseSizes(word.substr(colon + 1), tensors.back().shape);
    }
    Placement placement;
    bool hasPlace = word.find('@') != std::string_view::npos;
    if (!parsePlacement(word, placement) || placements.size() == 2)
      return false;
    if (placements.size() == 1 && !hasPlace)
      placement.first = placements[0].end();
    placements.push_back(placement);
    return true;
  }

  std::vector<Pair> choose() const {
    std::vector<Pair> chosen;
    if (placementPairs > 0)
      chosen = pairsOfPlacements(placementPairs, kParts);
    for (const Tensor &tensor : tensors.empty() ? manyTensors() : tensors) {
      if (placements.empty())
        break;
      std::vector<Pair> pairs =
          allPairs(tensor, placements.front(), placements.back(), reducers);
      pairs = sample(std::move(pairs), samples);
      chosen.insert(chosen.end(), pairs.begin(), pairs.end());
    }
    return {chosen.begin() + chosen.size() * part / parts,
            chosen.begin() + chosen.size() * (part + 1) / parts};
  }
};

} // namespace

int main(int argc, char **argv) {
  Request request;
  bool ok = argc >= 2;
  for (int i = 1; i < argc; ++i)
    ok = ok && request.parse(argv[i]);
  if (!ok || request.placements.empty() == (request.placementPairs == 0)) {
    std::fprintf(stderr,
                 "usage: boxing-cases MESH [MESH[@FIRST_RANK]] [TYPE:SHAPE] "
                 "[reducers=sum|other] [sample=N] [part=I/N]\n"
                 "       boxing-cases placements=N [part=I/N]\n"
                 "MESH is such as 3 or 2x2, of at most %lld ranks\n",
                 static_cast<long long>(kParts));
    return 2;
  }
  std::vector<Pair> pairs = request.choose();
  Printer(pairs).printModule();
  return 0;
}
