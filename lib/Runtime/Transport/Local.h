//===- Local.h - ranks as threads of one process ----------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The transport of a single process: every rank reads its peers' buffers where
// they lie, between barriers.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_TRANSPORT_LOCAL_H
#define ONEFLOW_RUNTIME_TRANSPORT_LOCAL_H

#include "../Gate.h"
#include "oneflow/Runtime/Transport.h"

namespace oneflow::runtime {

/// All of `rankCount` ranks live in this process. `patience` bounds the polling
/// before a waiting rank sleeps.
std::unique_ptr<Transport> createLocalTransport(int rankCount,
                                                const Patience &patience);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_TRANSPORT_LOCAL_H
