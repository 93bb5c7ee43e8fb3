//===- Actor/Transforms/Passes.h - schedule passes --------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes inside the schedule dialect; documented in Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ACTOR_TRANSFORMS_PASSES_H
#define ONEFLOW_DIALECT_ACTOR_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace oneflow::actor {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "oneflow/Dialect/Actor/Transforms/Passes.h.inc"

} // namespace oneflow::actor

#endif // ONEFLOW_DIALECT_ACTOR_TRANSFORMS_PASSES_H
