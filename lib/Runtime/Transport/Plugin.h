//===- Plugin.h - transports in shared libraries ----------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads liboneflow_transport_NAME.so, so that the runtime library itself
// depends on no communication library.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_TRANSPORT_PLUGIN_H
#define ONEFLOW_RUNTIME_TRANSPORT_PLUGIN_H

#include "../Status.h"

#include "oneflow/Runtime/Transport.h"

namespace oneflow::runtime {

/// Loads the plug-in from `folder` (null: beside this library, then as the
/// dynamic linker searches) and creates its transport. The library stays loaded
/// until the process ends: MPI cannot be initialised twice.
Status createPluginTransport(const char *name, const char *folder,
                             int rankCount, std::unique_ptr<Transport> &result);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_TRANSPORT_PLUGIN_H
