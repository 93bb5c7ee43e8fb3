//===- oneflow/Sbp/Sbp.h - split, broadcast, partial ------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The vocabulary of the SBP algebra: how one tensor lies along one mesh axis
// (Sbp), along all of them (NdSbp), and which part of it a rank holds. Plain
// C++ with no IR in it. After: OneFlow: Redesign the Distributed Deep Learning
// Framework from Scratch, arXiv 2110.15032; the reducers other than sum and the
// block splits are ours.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SBP_SBP_H
#define ONEFLOW_SBP_SBP_H

#include "oneflow/Plan/Split.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oneflow::sbp {

using plan::Interval;

/// How the parts of a partial value combine. All four are associative and
/// commutative over the reals.
enum class Reducer : uint8_t { Sum, Max, Min, Prod };

/// How a tensor lies along one mesh axis.
struct Sbp {
  enum class Kind : uint8_t { Split, Broadcast, Partial };

  Kind kind = Kind::Broadcast;
  /// The reducer of a Partial; Sum otherwise.
  Reducer reducer = Reducer::Sum;
  /// The split dimension of a Split; 0 otherwise.
  int64_t dim = 0;
  /// The splits of a Split fall on multiples of this; 1 otherwise.
  int64_t block = 1;

  static Sbp split(int64_t dim, int64_t block = 1) {
    return {Kind::Split, Reducer::Sum, dim, block};
  }
  static Sbp broadcast() { return {}; }
  static Sbp partial(Reducer reducer = Reducer::Sum) {
    return {Kind::Partial, reducer, 0, 1};
  }

  bool isSplit() const { return kind == Kind::Split; }
  bool isBroadcast() const { return kind == Kind::Broadcast; }
  bool isPartial() const { return kind == Kind::Partial; }

  friend bool operator==(const Sbp &a, const Sbp &b) {
    return a.kind == b.kind && a.reducer == b.reducer && a.dim == b.dim &&
           a.block == b.block;
  }
  friend bool operator!=(const Sbp &a, const Sbp &b) { return !(a == b); }
  /// A total order, for use as a key; it has no meaning beyond that.
  friend bool operator<(const Sbp &a, const Sbp &b);
};

/// One Sbp per mesh axis, applied from the first axis to the last; each Split
/// divides the extent that those before it leave.
using NdSbp = std::vector<Sbp>;

/// Sizes of the mesh axes, outermost first; ranks count with the last fastest.
using Mesh = std::vector<int64_t>;
/// Extents of a tensor, in elements.
using Shape = std::vector<int64_t>;

/// "B", "S(1)", "S(0, block = 64)", "P(sum)".
std::string toString(const Sbp &sbp);
/// "[S(0), B]".
std::string toString(const NdSbp &sbp);
std::string_view toString(Reducer reducer);

/// Inverse of toString; blanks are free. "P" alone is P(sum). nullopt when the
/// text is not an Sbp, with the reason in *error if given.
std::optional<Sbp> parseSbp(std::string_view text,
                            std::string *error = nullptr);

/// Number of ranks of a mesh.
int64_t rankCount(const Mesh &mesh);
/// Coordinates of `rank`, one per axis.
std::vector<int64_t> coordinates(const Mesh &mesh, int64_t rank);

/// Why `sbp` is no legal state for a tensor of this shape on this mesh, or
/// nullopt when it is. The rules, which messages name by these ids:
///   sbp_c1  one Sbp per mesh axis
///   sbp_c2  a split dimension exists, and its block divides its extent
///   sbp_c3  a split dimension has at least one block per part on every rank,
///           counted in what the axes before it leave
///   sbp_c4  all partial axes have the same reducer
std::optional<std::string> checkLegal(const NdSbp &sbp, const Shape &shape,
                                      const Mesh &mesh);

/// The interval of each dimension that the rank at `coords` holds. Requires a
/// legal state.
std::vector<Interval> localIntervals(const NdSbp &sbp, const Shape &shape,
                                     const Mesh &mesh,
                                     const std::vector<int64_t> &coords);

/// Largest local extents over all ranks: what memory is planned for. That of
/// coordinate 0 everywhere.
Shape ceilingShape(const NdSbp &sbp, const Shape &shape, const Mesh &mesh);

/// True when every rank holds ceilingShape: no extent depends on the rank.
bool isEven(const NdSbp &sbp, const Shape &shape, const Mesh &mesh);

/// The value r with reduce(r, x) == x: 0, -inf, +inf, 1.
double neutralElement(Reducer reducer);

} // namespace oneflow::sbp

#endif // ONEFLOW_SBP_SBP_H
