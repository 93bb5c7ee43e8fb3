//===- TensorFile.cpp - tensors by file extension -------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of extensions, and the dispatch over it.
//
//===----------------------------------------------------------------------===//

#include "oneflow/TensorIO/TensorFile.h"
#include "oneflow/TensorIO/Npy.h"
#include "oneflow/TensorIO/Npz.h"
#include "oneflow/TensorIO/Onnx.h"
#include "oneflow/TensorIO/SafeTensors.h"

#include <algorithm>

using namespace oneflow::tensorio;

Expected<FileFormat> oneflow::tensorio::fileFormat(const std::string &path) {
  size_t slash = path.rfind('/');
  size_t dot = path.rfind('.');
  std::string extension;
  if (dot != std::string::npos && (slash == std::string::npos || dot > slash))
    extension = path.substr(dot);
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (extension == ".npy")
    return FileFormat::Npy;
  if (extension == ".npz")
    return FileFormat::Npz;
  if (extension == ".safetensors")
    return FileFormat::SafeTensors;
  if (extension == ".pb")
    return FileFormat::TensorProto;
  return Error{"the format of '" + path +
               "' is unknown, expected .npy, .npz, .safetensors or .pb"};
}

bool oneflow::tensorio::holdsManyTensors(FileFormat format) {
  return format == FileFormat::Npz || format == FileFormat::SafeTensors;
}

Expected<TensorMap> oneflow::tensorio::readTensors(const std::string &path) {
  Expected<FileFormat> format = fileFormat(path);
  if (!format.ok())
    return format.error();
  switch (*format) {
  case FileFormat::Npz:
    return readNpz(path);
  case FileFormat::SafeTensors: {
    Expected<SafeTensors> file = readSafeTensors(path);
    if (!file.ok())
      return file.error();
    return std::move(file->tensors);
  }
  case FileFormat::Npy: {
    Expected<Tensor> tensor = readNpy(path);
    if (!tensor.ok())
      return tensor.error();
    return TensorMap{{"", std::move(*tensor)}};
  }
  case FileFormat::TensorProto: {
    Expected<NamedTensor> named = readTensorProto(path);
    if (!named.ok())
      return named.error();
    return TensorMap{{named->name, std::move(named->tensor)}};
  }
  }
  return Error{"the format of '" + path + "' is unknown"};
}

Status oneflow::tensorio::writeTensor(const std::string &path,
                                      const std::string &name,
                                      const Tensor &tensor) {
  Expected<FileFormat> format = fileFormat(path);
  if (!format.ok())
    return format.error();
  switch (*format) {
  case FileFormat::Npy:
    return writeNpy(path, tensor);
  case FileFormat::Npz:
    return writeNpz(path, {{name, tensor}});
  case FileFormat::SafeTensors:
    return writeSafeTensors(path, {{{name, tensor}}, {}});
  case FileFormat::TensorProto:
    return writeTensorProto(path, {name, tensor});
  }
  return Error{"the format of '" + path + "' is unknown"};
}

Status oneflow::tensorio::writeTensors(const std::string &path,
                                       const TensorMap &tensors) {
  Expected<FileFormat> format = fileFormat(path);
  if (!format.ok())
    return format.error();
  if (*format == FileFormat::Npz)
    return writeNpz(path, tensors);
  if (*format == FileFormat::SafeTensors)
    return writeSafeTensors(path, {tensors, {}});
  if (tensors.size() != 1)
    return Error{"cannot write '" + path + "': it holds one tensor, got: " +
                 std::to_string(tensors.size())};
  return writeTensor(path, tensors.begin()->first, tensors.begin()->second);
}
