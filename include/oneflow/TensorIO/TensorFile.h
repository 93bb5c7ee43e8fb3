//===- TensorIO/TensorFile.h - tensors by file extension --------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes tensors in the format that a path's extension names: `.npy`,
// `.npz`, `.safetensors` or `.pb` (a serialised ONNX TensorProto).
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TENSORIO_TENSORFILE_H
#define ONEFLOW_TENSORIO_TENSORFILE_H

#include "oneflow/TensorIO/Status.h"
#include "oneflow/TensorIO/Tensor.h"

namespace oneflow::tensorio {

enum class FileFormat { Npy, Npz, SafeTensors, TensorProto };

/// By the extension, in any case of letters; an error lists what is known.
Expected<FileFormat> fileFormat(const std::string &path);

/// Whether files of the format hold any number of named tensors.
bool holdsManyTensors(FileFormat format);

/// All tensors of a file. The one tensor of a `.npy` has the empty name, that
/// of a `.pb` the name it gives itself, which may be empty.
Expected<TensorMap> readTensors(const std::string &path);

/// Writes one tensor; `name` is used by the formats that keep names.
Status writeTensor(const std::string &path, const std::string &name,
                   const Tensor &tensor);

/// Writes tensors by name; `.npy` and `.pb` take exactly one.
Status writeTensors(const std::string &path, const TensorMap &tensors);

} // namespace oneflow::tensorio

#endif // ONEFLOW_TENSORIO_TENSORFILE_H
