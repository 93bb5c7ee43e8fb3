//===- oneflow/Plan/Split.h - the balanced split ----------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one definition of how a dimension is divided among the ranks of a mesh
// axis. The compiler plans with it and the runtime evaluates it at load, so
// that a plan does not grow with the number of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_PLAN_SPLIT_H
#define ONEFLOW_PLAN_SPLIT_H

#include <cstdint>

namespace oneflow::plan {

/// A half-open interval of elements along one dimension.
struct Interval {
  int64_t offset = 0;
  int64_t extent = 0;

  friend bool operator==(const Interval &a, const Interval &b) {
    return a.offset == b.offset && a.extent == b.extent;
  }
};

/// Part `index` of `size` elements divided into `parts` balanced parts that
/// begin on multiples of `block`: the first `(size / block) mod parts` parts
/// hold one block more. Requires `parts > 0`, `0 <= index < parts`,
/// `block > 0` and `size` a multiple of `block`. Parts may be empty.
constexpr Interval balancedSplit(int64_t size, int64_t parts, int64_t index,
                                 int64_t block = 1) {
  int64_t blocks = size / block;
  int64_t base = blocks / parts;
  int64_t larger = blocks % parts;
  int64_t first = index * base + (index < larger ? index : larger);
  int64_t count = base + (index < larger ? 1 : 0);
  return {first * block, count * block};
}

} // namespace oneflow::plan

#endif // ONEFLOW_PLAN_SPLIT_H
