//===- oneflow/TensorIO/Npz.h - NumPy's .npz archives -----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes NumPy's archives of named arrays: a zip of `NAME.npy` files,
// stored or deflated.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TENSORIO_NPZ_H
#define ONEFLOW_TENSORIO_NPZ_H

#include "oneflow/TensorIO/Status.h"
#include "oneflow/TensorIO/Tensor.h"

namespace oneflow::tensorio {

/// Parses a whole file's contents. `name` stands in messages.
Expected<TensorMap> parseNpz(const Bytes &contents, const std::string &name);
Expected<TensorMap> readNpz(const std::string &path);

enum class NpzCompression { Stored, Deflated };

Status writeNpz(const std::string &path, const TensorMap &tensors,
                NpzCompression compression = NpzCompression::Stored);

} // namespace oneflow::tensorio

#endif // ONEFLOW_TENSORIO_NPZ_H
