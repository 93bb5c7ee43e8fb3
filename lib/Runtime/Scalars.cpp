//===- Scalars.cpp - run-time values of a rank ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scalars.h"

#include "Layout.h"

#include "oneflow/Plan/Split.h"

using namespace oneflow;
using namespace oneflow::runtime;

static int64_t evaluate(const plan::Scalar &scalar, const Mesh &mesh,
                        int64_t rank) {
  if (scalar.kind() == plan::ScalarKind::Constant)
    return scalar.size();
  if (!mesh.contains(rank))
    return 0;
  std::vector<int64_t> coordinates = mesh.coordinates(rank);
  if (scalar.kind() == plan::ScalarKind::Coordinate)
    return coordinates[scalar.steps()->Get(0)->axis()];
  plan::Interval part{0, scalar.size()};
  if (scalar.steps())
    for (const plan::SplitStep *step : *scalar.steps()) {
      plan::Interval inner =
          plan::balancedSplit(part.extent, mesh.sizes[step->axis()],
                              coordinates[step->axis()], step->block());
      part = {part.offset + inner.offset, inner.extent};
    }
  return scalar.kind() == plan::ScalarKind::Extent ? part.extent : part.offset;
}

std::vector<int64_t> oneflow::runtime::evaluateScalars(const plan::Plan &plan,
                                                       int64_t rank) {
  std::vector<int64_t> values;
  if (!plan.scalars())
    return values;
  values.reserve(plan.scalars()->size());
  for (const plan::Scalar *scalar : *plan.scalars())
    values.push_back(evaluate(
        *scalar, Mesh::of(*plan.placements()->Get(scalar->placement())), rank));
  return values;
}
