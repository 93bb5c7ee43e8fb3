//===- StatusC.cpp - C API: statuses, element types, version --------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApi.h"
#include "DataType.h"

using namespace oneflow;
using namespace oneflow::runtime;

of_status_t *oneflow::runtime::outOfMemoryStatus() {
  // Short enough for the strings to need no memory of their own.
  static of_status_t status{OF_STATUS_OUT_OF_MEMORY, "out of memory", ""};
  return &status;
}

of_status_code of_status_get_code(const of_status_t *status) {
  return status ? status->code : OF_STATUS_OK;
}

const char *of_status_get_message(const of_status_t *status) {
  return status ? status->message.c_str() : "";
}

const char *of_status_get_location(const of_status_t *status) {
  return status ? status->location.c_str() : "";
}

void of_status_free(of_status_t *status) {
  if (status != outOfMemoryStatus())
    delete status;
}

size_t of_dtype_size(of_dtype dtype) {
  return dtypeBytes(static_cast<plan::DType>(dtype));
}

const char *of_dtype_name(of_dtype dtype) {
  return dtypeName(static_cast<plan::DType>(dtype));
}

const char *of_version(void) { return ONEFLOW_VERSION; }
