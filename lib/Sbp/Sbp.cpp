//===- Sbp.cpp - split, broadcast, partial ----------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text form, legality and geometry of SBP states. Everything follows from one
// walk over the mesh axes: each split divides the extent that those before it
// leave, by plan::balancedSplit.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Sbp.h"
#include "oneflow/Sbp/Quoted.h"

#include <limits>
#include <set>
#include <tuple>

namespace oneflow::sbp {

bool operator<(const Sbp &a, const Sbp &b) {
  return std::tie(a.kind, a.reducer, a.dim, a.block) <
         std::tie(b.kind, b.reducer, b.dim, b.block);
}

std::string_view toString(Reducer reducer) {
  switch (reducer) {
  case Reducer::Sum:
    return "sum";
  case Reducer::Max:
    return "max";
  case Reducer::Min:
    return "min";
  case Reducer::Prod:
    return "prod";
  }
  return "unknown";
}

std::string toString(const Sbp &sbp) {
  switch (sbp.kind) {
  case Sbp::Kind::Broadcast:
    return "B";
  case Sbp::Kind::Partial:
    return "P(" + std::string(toString(sbp.reducer)) + ")";
  case Sbp::Kind::Split:
    break;
  }
  std::string text = "S(" + std::to_string(sbp.dim);
  if (sbp.block != 1)
    text += ", block = " + std::to_string(sbp.block);
  return text + ")";
}

std::string toString(const NdSbp &sbp) {
  std::string text = "[";
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    text += (axis ? ", " : "") + toString(sbp[axis]);
  return text + "]";
}

namespace {

/// A cursor over the text of an Sbp that skips blanks before every token.
class SbpParser {
public:
  explicit SbpParser(std::string_view text) : text(text) {}

  std::optional<Sbp> parse(std::string &reason) {
    std::optional<Sbp> sbp = parseKind(reason);
    if (!sbp)
      return std::nullopt;
    skipBlanks();
    if (position != text.size())
      return fail(reason, "the end");
    return sbp;
  }

private:
  std::optional<Sbp> parseKind(std::string &reason) {
    if (accept("B"))
      return Sbp::broadcast();
    if (accept("P"))
      return parsePartial(reason);
    if (accept("S"))
      return parseSplit(reason);
    return fail(reason, "S, B or P");
  }

  std::optional<Sbp> parsePartial(std::string &reason) {
    if (!accept("("))
      return Sbp::partial();
    for (Reducer reducer :
         {Reducer::Sum, Reducer::Max, Reducer::Min, Reducer::Prod}) {
      if (!accept(toString(reducer)))
        continue;
      if (!accept(")"))
        return fail(reason, "')' after the reducer");
      return Sbp::partial(reducer);
    }
    return fail(reason, "one of sum, max, min, prod");
  }

  std::optional<Sbp> parseSplit(std::string &reason) {
    if (!accept("("))
      return fail(reason, "'(' after S");
    std::optional<int64_t> dim = integer();
    if (!dim)
      return fail(reason, "the number of a dimension");
    int64_t block = 1;
    if (accept(",")) {
      if (!accept("block") || !accept("="))
        return fail(reason, "'block ='");
      std::optional<int64_t> value = integer();
      if (!value || *value == 0)
        return fail(reason, "a positive block");
      block = *value;
    }
    if (!accept(")"))
      return fail(reason, "')'");
    return Sbp::split(*dim, block);
  }

  std::nullopt_t fail(std::string &reason, const char *expected) {
    reason = "expected " + std::string(expected) + " at column " +
             std::to_string(position + 1) + " of " + inQuotes(text);
    return std::nullopt;
  }

  void skipBlanks() {
    while (position < text.size() &&
           (text[position] == ' ' || text[position] == '\t'))
      ++position;
  }

  bool accept(std::string_view token) {
    skipBlanks();
    if (text.substr(position, token.size()) != token)
      return false;
    position += token.size();
    return true;
  }

  /// A non-negative decimal number; nullopt if there is none or it is too
  /// large.
  std::optional<int64_t> integer() {
    skipBlanks();
    size_t end = position;
    int64_t value = 0;
    for (; end < text.size() && text[end] >= '0' && text[end] <= '9'; ++end) {
      int64_t digit = text[end] - '0';
      if (value > (std::numeric_limits<int64_t>::max() - digit) / 10)
        return std::nullopt;
      value = value * 10 + digit;
    }
    if (end == position)
      return std::nullopt;
    position = end;
    return value;
  }

  std::string_view text;
  size_t position = 0;
};

} // namespace

std::optional<Sbp> parseSbp(std::string_view text, std::string *error) {
  std::string reason;
  std::optional<Sbp> sbp = SbpParser(text).parse(reason);
  if (!sbp && error)
    *error = reason;
  return sbp;
}

int64_t rankCount(const Mesh &mesh) {
  int64_t ranks = 1;
  for (int64_t size : mesh)
    ranks *= size;
  return ranks;
}

std::vector<int64_t> coordinates(const Mesh &mesh, int64_t rank) {
  std::vector<int64_t> coords(mesh.size(), 0);
  for (size_t axis = mesh.size(); axis-- > 0;) {
    coords[axis] = rank % mesh[axis];
    rank /= mesh[axis];
  }
  return coords;
}

/// The first partial axis whose reducer is not that of an earlier one.
static std::optional<std::string> checkReducers(const NdSbp &sbp) {
  const Sbp *first = nullptr;
  for (const Sbp &state : sbp) {
    if (!state.isPartial())
      continue;
    if (first && first->reducer != state.reducer)
      return "sbp_c4: expected one reducer for all partial axes, got: " +
             toString(*first) + " and " + toString(state) + " in " +
             toString(sbp);
    first = &state;
  }
  return std::nullopt;
}

std::optional<std::string> checkLegal(const NdSbp &sbp, const Shape &shape,
                                      const Mesh &mesh) {
  auto counted = [](size_t count, const char *noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
  };
  if (sbp.size() != mesh.size())
    return "sbp_c1: expected one Sbp per mesh axis (" +
           counted(mesh.size(), "axis") + "), got: " + toString(sbp);

  // Uneven splits leave different extents on different ranks; there are few
  // distinct ones, however many ranks there are.
  std::vector<std::set<int64_t>> extents;
  for (int64_t extent : shape)
    extents.push_back({extent});

  for (size_t axis = 0; axis < sbp.size(); ++axis) {
    int64_t parts = mesh[axis];
    std::string where = " along mesh axis " + std::to_string(axis);
    if (parts <= 0)
      return "sbp_c1: expected a positive size of mesh axis " +
             std::to_string(axis) + ", got: " + std::to_string(parts);
    if (!sbp[axis].isSplit())
      continue;
    auto [kind, reducer, dim, block] = sbp[axis];
    if (dim < 0 || dim >= static_cast<int64_t>(shape.size()))
      return "sbp_c2: expected a dimension of a tensor of rank " +
             std::to_string(shape.size()) + where +
             ", got: " + toString(sbp[axis]);
    if (block <= 0)
      return "sbp_c2: expected a positive block" + where +
             ", got: " + std::to_string(block);
    std::set<int64_t> left;
    for (int64_t extent : extents[dim]) {
      if (extent % block != 0)
        return "sbp_c2: expected a block that divides the extent " +
               std::to_string(extent) + " of dimension " + std::to_string(dim) +
               where + ", got: " + toString(sbp[axis]);
      if (extent / block < parts)
        return "sbp_c3: expected at least " +
               counted(static_cast<size_t>(parts), "block") + " of dimension " +
               std::to_string(dim) + where +
               ", got: " + std::to_string(extent / block) + " of " +
               toString(sbp[axis]) + " in extent " + std::to_string(extent);
      left.insert(plan::balancedSplit(extent, parts, 0, block).extent);
      left.insert(plan::balancedSplit(extent, parts, parts - 1, block).extent);
    }
    extents[dim] = std::move(left);
  }
  return checkReducers(sbp);
}

std::vector<Interval> localIntervals(const NdSbp &sbp, const Shape &shape,
                                     const Mesh &mesh,
                                     const std::vector<int64_t> &coords) {
  std::vector<Interval> intervals;
  for (int64_t extent : shape)
    intervals.push_back({0, extent});
  for (size_t axis = 0; axis < sbp.size(); ++axis) {
    if (!sbp[axis].isSplit())
      continue;
    Interval &interval = intervals[sbp[axis].dim];
    Interval part = plan::balancedSplit(interval.extent, mesh[axis],
                                        coords[axis], sbp[axis].block);
    interval = {interval.offset + part.offset, part.extent};
  }
  return intervals;
}

Shape ceilingShape(const NdSbp &sbp, const Shape &shape, const Mesh &mesh) {
  // Coordinate 0 has the most blocks of every split, and more of an extent
  // never makes a part smaller.
  Shape ceiling;
  for (const Interval &interval :
       localIntervals(sbp, shape, mesh, std::vector<int64_t>(mesh.size(), 0)))
    ceiling.push_back(interval.extent);
  return ceiling;
}

bool isEven(const NdSbp &sbp, const Shape &shape, const Mesh &mesh) {
  // Parts that differ after one axis cannot be divided into equal ones by the
  // next, so following coordinate 0 is enough.
  Shape left = shape;
  for (size_t axis = 0; axis < sbp.size(); ++axis) {
    if (!sbp[axis].isSplit())
      continue;
    int64_t &extent = left[sbp[axis].dim];
    if ((extent / sbp[axis].block) % mesh[axis] != 0)
      return false;
    extent /= mesh[axis];
  }
  return true;
}

double neutralElement(Reducer reducer) {
  switch (reducer) {
  case Reducer::Sum:
    return 0;
  case Reducer::Max:
    return -std::numeric_limits<double>::infinity();
  case Reducer::Min:
    return std::numeric_limits<double>::infinity();
  case Reducer::Prod:
    return 1;
  }
  return 0;
}

} // namespace oneflow::sbp
