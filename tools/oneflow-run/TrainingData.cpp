//===- oneflow-run/TrainingData.cpp - samples for training and validation -===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole files are held in memory; a batch is a copy of rows.
//
//===----------------------------------------------------------------------===//

#include "TrainingData.h"
#include "Batches.h"
#include "Launch.h"
#include "oneflow/TensorIO/TensorFile.h"

#include <algorithm>
#include <functional>
#include <numeric>

using namespace oneflow::run;
using namespace oneflow::tensorio;

namespace {

bool isInteger(DType dtype) {
  return dtype != DType::Bool && dtype < DType::F16;
}

/// Position of the largest of `count` scores from `begin` on.
uint64_t argmax(const Tensor &scores, uint64_t begin, uint64_t count) {
  uint64_t best = 0;
  double bestScore = elementAsDouble(scores, begin);
  for (uint64_t i = 1; i < count; ++i) {
    double score = elementAsDouble(scores, begin + i);
    // Also true when the best so far is NaN and this one is not.
    if (score > bestScore || (bestScore != bestScore && score == score)) {
      best = i;
      bestScore = score;
    }
  }
  return best;
}

} // namespace

std::vector<const Tensor *> Samples::pointers() const {
  std::vector<const Tensor *> result;
  for (const Tensor &tensor : tensors)
    result.push_back(&tensor);
  return result;
}

Expected<Samples> oneflow::run::selectSamples(const Entry &entry,
                                              TensorMap file,
                                              const std::string &path) {
  if (Expected<int64_t> batch = leadingBatch(entry); !batch.ok())
    return batch.error();
  Samples samples;
  for (const TensorInfo &info : entry.inputs) {
    auto found = file.find(info.name);
    if (found == file.end()) {
      std::string names;
      for (const auto &[name, tensor] : file)
        names += (names.empty() ? "'" : ", '") + name + "'";
      return Error{"'" + path + "' has no tensor '" + info.name +
                   "' for entry '" + entry.name + "', it has: " + names};
    }
    Tensor &tensor = found->second;
    if (tensor.dtype != info.dtype ||
        tensor.shape.size() != info.shape.size() ||
        !std::equal(info.shape.begin() + 1, info.shape.end(),
                    tensor.shape.begin() + 1))
      return Error{"'" + info.name + "' in '" + path + "' is " +
                   describe(tensor.dtype, tensor.shape) + ", expected " +
                   describe(info.dtype, info.shape) +
                   " with any number of samples"};
    if (!samples.tensors.empty() && tensor.shape[0] != samples.count)
      return Error{"'" + info.name + "' in '" + path + "' has " +
                   std::to_string(tensor.shape[0]) + " samples, expected " +
                   std::to_string(samples.count)};
    samples.count = tensor.shape[0];
    samples.tensors.push_back(std::move(tensor));
  }
  if (samples.count == 0)
    return Error{"'" + path + "' has no samples"};
  return samples;
}

Expected<Evaluator> Evaluator::create(const Entry &entry,
                                      const std::string &path,
                                      const std::string &labels) {
  Expected<TensorMap> file = readTensors(path);
  if (!file.ok())
    return file.error();
  auto found = file->find(labels);
  if (found == file->end())
    return Error{"'" + path + "' has no labels '" + labels + "'"};
  // A copy, since the labels may be an input as well.
  Tensor values = found->second;
  Expected<Samples> samples = selectSamples(entry, std::move(*file), path);
  if (!samples.ok())
    return samples.error();
  int64_t batch = entry.inputs[0].shape[0];
  const std::vector<int64_t> *scores =
      entry.outputs.empty() ? nullptr : &entry.outputs[0].shape;
  if (!scores || scores->size() < 2 || scores->front() != batch ||
      *std::min_element(scores->begin(), scores->end()) < 1)
    return Error{
        "validation needs class scores of shape [" + std::to_string(batch) +
        ", classes], or [" + std::to_string(batch) +
        ", positions, classes] with a label for every position, as the first "
        "output of entry '" +
        entry.name + "'" +
        (scores ? ", got: " + describe(*scores) : ", it has no outputs")};
  // What has a label each: the sample itself, or every position of a sequence.
  int64_t positions = std::accumulate(scores->begin() + 1, scores->end() - 1,
                                      int64_t(1), std::multiplies<int64_t>());
  if (!isInteger(values.dtype) || values.shape.empty() ||
      values.shape[0] != samples->count ||
      static_cast<int64_t>(values.elementCount()) !=
          samples->count * positions) {
    std::vector<int64_t> expected(scores->begin(), scores->end() - 1);
    expected[0] = samples->count;
    return Error{"labels '" + labels + "' in '" + path + "' are " +
                 describe(values.dtype, values.shape) +
                 ", expected integers of shape " + describe(expected)};
  }
  Evaluator evaluator;
  evaluator.entry = entry;
  evaluator.samples = std::move(*samples);
  evaluator.labels = std::move(values);
  evaluator.positions = positions;
  // What cannot be put together is found here, not after an epoch.
  Expected<Batching> batching =
      planBatches(evaluator.entry, evaluator.samples.pointers());
  if (!batching.ok())
    return batching.error();
  return evaluator;
}

Expected<Accuracy> Evaluator::evaluate(Session &session) const {
  Expected<Batching> batching = planBatches(entry, samples.pointers());
  if (!batching.ok())
    return batching.error();
  BatchRunner runner(session, entry, samples.pointers(), *batching);
  uint64_t classes = static_cast<uint64_t>(entry.outputs[0].shape.back());
  Accuracy accuracy;
  accuracy.total = samples.count * positions;
  uint64_t label = 0;
  for (int64_t i = 0; i < batching->runs(); ++i) {
    if (Status status = checkInterrupt(); !status.ok())
      return status.error();
    Expected<int64_t> rows = runner.run(i);
    if (!rows.ok())
      return rows.error();
    int64_t count = batching->isNeeded() ? *rows : samples.count;
    const Tensor &scores = runner.outputs()[0];
    for (int64_t row = 0; row < count * positions; ++row, ++label) {
      uint64_t guess =
          argmax(scores, static_cast<uint64_t>(row) * classes, classes);
      accuracy.correct +=
          static_cast<double>(guess) == elementAsDouble(labels, label);
    }
  }
  return accuracy;
}
