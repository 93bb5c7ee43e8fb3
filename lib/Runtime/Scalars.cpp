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

// Whether a step of `scalar` goes along the time axis of its placement.
static bool usesTime(const plan::Scalar &scalar, const plan::Plan &plan) {
  if (scalar.kind() == plan::ScalarKind::Constant || !scalar.steps() ||
      timeAxisSize(*plan.placements()->Get(scalar.placement())) == 0)
    return false;
  for (const plan::SplitStep *step : *scalar.steps())
    if (step->axis() == 0)
      return true;
  return false;
}

static int64_t evaluate(const plan::Scalar &scalar,
                        const plan::Placement &placement, int64_t rank,
                        int64_t action) {
  if (scalar.kind() == plan::ScalarKind::Constant)
    return scalar.size();
  Mesh mesh = Mesh::of(placement);
  if (!mesh.contains(rank))
    return 0;
  std::vector<int64_t> coordinates = mesh.coordinates(rank);
  if (int64_t actions = timeAxisSize(placement)) {
    if (action >= actions)
      return 0;
    mesh.sizes.front() = actions;
    coordinates.front() = action;
  }
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

ScalarTable::ScalarTable(const plan::Plan &plan, int64_t rank,
                         uint64_t actions) {
  if (!plan.scalars())
    return;
  count = plan.scalars()->size();
  for (const plan::Scalar *scalar : *plan.scalars())
    perAction |= usesTime(*scalar, plan);
  uint64_t rows = perAction ? actions : 1;
  values.resize(rows * count);
  for (size_t i = 0; i < count; ++i) {
    const plan::Scalar &scalar = *plan.scalars()->Get(static_cast<uint32_t>(i));
    const plan::Placement &placement =
        *plan.placements()->Get(scalar.placement());
    // What does not depend on time is the same in all rows, even behind the end
    // of its placement's time axis.
    bool varies = usesTime(scalar, plan);
    int64_t constant = varies ? 0 : evaluate(scalar, placement, rank, 0);
    for (uint64_t k = 0; k < rows; ++k)
      values[k * count + i] =
          varies ? evaluate(scalar, placement, rank, static_cast<int64_t>(k))
                 : constant;
  }
}
