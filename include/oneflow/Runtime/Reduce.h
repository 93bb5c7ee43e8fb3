//===- oneflow/Runtime/Reduce.h - reductions across ranks -------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one definition of what combining the ranks' values means; every transport
// uses it, so results do not depend on the transport.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_REDUCE_H
#define ONEFLOW_RUNTIME_REDUCE_H

#include "oneflow/Plan/Plan_generated.h"

#include <cstdint>

namespace oneflow::runtime {

/// target[i] = parts[0][i] op parts[1][i] op ..., from the left, for i < count.
///
/// Sums and products of integers wrap. Bool: Sum and Max are "or", Prod and Min
/// "and". f16 and bf16 are combined in f32 and rounded once at the end. Max and
/// Min give NaN when any operand is NaN. `partCount` >= 1. `target` may be one
/// of the parts, else it does not overlap them. Pointers are aligned to the
/// element.
void reduceParts(plan::DType dtype, plan::Reducer reducer,
                 const void *const *parts, int partCount, void *target,
                 uint64_t count);

/// Fills `count` elements with the neutral element of Sum (0) or Prod (1); for
/// Max and Min, which partial tensors need no neutral element of, with 0.
void fillNeutral(plan::DType dtype, plan::Reducer reducer, void *target,
                 uint64_t count);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_REDUCE_H
