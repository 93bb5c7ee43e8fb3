//===- Scalars.h - run-time values of a rank --------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan's scalars as one rank sees them: extents and offsets of its parts of
// unevenly split dimensions, and its coordinates, that along time included: it
// is the number of the action.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_SCALARS_H
#define ONEFLOW_RUNTIME_SCALARS_H

#include "oneflow/Plan/Plan_generated.h"

#include <cstdint>
#include <vector>

namespace oneflow::runtime {

/// The plan's scalars on one rank, a row per action where some depend on time.
/// Requires a valid plan.
class ScalarTable {
public:
  /// Rows for `actions` >= 1 actions.
  ScalarTable(const plan::Plan &plan, int64_t rank, uint64_t actions);
  ScalarTable() = default;

  /// One value per scalar of the plan, in its order; 0 for a scalar of a
  /// placement that the rank does not belong to, or whose time axis ends before
  /// `action`.
  const int64_t *row(uint64_t action) const {
    return values.data() + (perAction ? action * count : 0);
  }
  /// Whether rows differ.
  bool dependsOnTime() const { return perAction; }

private:
  size_t count = 0;
  bool perAction = false;
  std::vector<int64_t> values;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_SCALARS_H
