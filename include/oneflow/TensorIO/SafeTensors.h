//===- oneflow/TensorIO/SafeTensors.h - .safetensors files ------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes the safetensors format: eight bytes of header size, a JSON
// header with dtype, shape and data_offsets of every tensor, and the data. A
// file is refused unless its header is within bounds, every tensor's size is
// that of its dtype and shape, and the tensors cover the data exactly, with
// neither overlap nor hole.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TENSORIO_SAFETENSORS_H
#define ONEFLOW_TENSORIO_SAFETENSORS_H

#include "oneflow/TensorIO/Status.h"
#include "oneflow/TensorIO/Tensor.h"

namespace oneflow::tensorio {

struct SafeTensors {
  TensorMap tensors;
  /// The free-form `__metadata__`.
  std::map<std::string, std::string> metadata;
};

/// Parses a whole file's contents. `name` stands in messages.
Expected<SafeTensors> parseSafeTensors(const uint8_t *data, size_t bytes,
                                       const std::string &name);
Expected<SafeTensors> readSafeTensors(const std::string &path);

/// Refuses inconsistent tensors and the reserved name `__metadata__`.
Status writeSafeTensors(const std::string &path, const SafeTensors &file);

} // namespace oneflow::tensorio

#endif // ONEFLOW_TENSORIO_SAFETENSORS_H
