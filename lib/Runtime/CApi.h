//===- CApi.h - behind the C API --------------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The opaque types of RuntimeC.h, and the wall that keeps exceptions inside.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_CAPI_H
#define ONEFLOW_RUNTIME_CAPI_H

#include "LoadedPlan.h"
#include "Status.h"

#include <exception>
#include <memory>
#include <new>
#include <system_error>

struct of_plan_t {
  std::shared_ptr<const oneflow::runtime::LoadedPlan> loaded;
};

namespace oneflow::runtime {

/// Used when there is no memory for a status; of_status_free leaves it alone.
of_status_t *outOfMemoryStatus();

/// Calls `body`, which returns a Status, and turns exceptions of the standard
/// library into statuses.
template <typename Body> of_status_t *guarded(Body body) {
  try {
    return body().release();
  } catch (const std::bad_alloc &) {
    return outOfMemoryStatus();
  } catch (const std::system_error &error) {
    try {
      return unsupported("the system refused a resource: ", error.what())
          .release();
    } catch (...) {
      return outOfMemoryStatus();
    }
  } catch (...) {
    return outOfMemoryStatus();
  }
}

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_CAPI_H
