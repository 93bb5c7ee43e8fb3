//===- oneflow/TensorIO/Npy.h - NumPy's .npy files --------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes NumPy's format for one array, versions 1.0 to 3.0, C and
// Fortran order (Fortran order is turned into row-major on reading), after
// numpy.lib.format. Little-endian only. NumPy has no bf16: it is written as the
// 2-byte void `V2`, as the ml_dtypes package does, and `V2` is read as bf16.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TENSORIO_NPY_H
#define ONEFLOW_TENSORIO_NPY_H

#include "oneflow/TensorIO/Status.h"
#include "oneflow/TensorIO/Tensor.h"

namespace oneflow::tensorio {

/// Parses a whole file's contents. `name` stands in messages.
Expected<Tensor> parseNpy(const uint8_t *data, size_t bytes,
                          const std::string &name);
Expected<Tensor> readNpy(const std::string &path);

/// The contents of a file: version 1.0, row-major. The tensor must be
/// consistent.
Bytes encodeNpy(const Tensor &tensor);
Status writeNpy(const std::string &path, const Tensor &tensor);

} // namespace oneflow::tensorio

#endif // ONEFLOW_TENSORIO_NPY_H
