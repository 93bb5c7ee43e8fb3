//===- Scalars.h - run-time values of a rank --------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan's scalars as one rank sees them: extents and offsets of its parts of
// unevenly split dimensions, and its coordinates.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_SCALARS_H
#define ONEFLOW_RUNTIME_SCALARS_H

#include "oneflow/Plan/Plan_generated.h"

#include <cstdint>
#include <vector>

namespace oneflow::runtime {

/// One value per scalar of the plan, in its order; 0 for a scalar of a
/// placement that `rank` does not belong to. Requires a valid plan.
std::vector<int64_t> evaluateScalars(const plan::Plan &plan, int64_t rank);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_SCALARS_H
