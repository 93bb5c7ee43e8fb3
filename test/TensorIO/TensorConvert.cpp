//===- TensorConvert.cpp - the library for test scripts -------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lets the Python tests run the library: `TensorConvert IN OUT` reads tensors
// and writes them in the other file's format, `--deflate` compresses an .npz,
// `--model MODEL WEIGHTS OUT` writes weights into an ONNX model. Errors go to
// standard error, with exit code 1.
//
//===----------------------------------------------------------------------===//

#include "oneflow/TensorIO/AtomicFile.h"
#include "oneflow/TensorIO/Npz.h"
#include "oneflow/TensorIO/Onnx.h"
#include "oneflow/TensorIO/TensorFile.h"

#include <cstdio>

using namespace oneflow::tensorio;

static Status convert(const std::vector<std::string> &words) {
  if (words.size() == 4 && words[0] == "--model") {
    Expected<Bytes> model = readFile(words[1]);
    if (!model.ok())
      return model.error();
    Expected<TensorMap> weights = readTensors(words[2]);
    if (!weights.ok())
      return weights.error();
    Expected<Bytes> trained = writeTrainedModel(*model, *weights);
    if (!trained.ok())
      return trained.error();
    return writeFile(words[3], *trained);
  }
  bool deflate = words.size() == 3 && words[0] == "--deflate";
  if (words.size() != 2 && !deflate)
    return Error{"wrong usage"};
  Expected<TensorMap> tensors = readTensors(words[words.size() - 2]);
  if (!tensors.ok())
    return tensors.error();
  return deflate ? writeNpz(words.back(), *tensors, NpzCompression::Deflated)
                 : writeTensors(words.back(), *tensors);
}

int main(int argc, char **argv) {
  Status status = convert({argv + 1, argv + argc});
  if (!status.ok())
    std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
