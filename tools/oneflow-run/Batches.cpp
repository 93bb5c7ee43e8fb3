//===- Batches.cpp - data of any length through a plan of one batch -------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs that are cut are copied to staging tensors of the plan's shapes; the
// others are handed over as they are.
//
//===----------------------------------------------------------------------===//

#include "Batches.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace oneflow::run;
using oneflow::tensorio::describe;

namespace {

/// Whether data differs from the plan in its leading extent only.
bool differsInBatchOnly(const TensorInfo &info, const Tensor &tensor) {
  return !info.shape.empty() && info.shape.size() == tensor.shape.size() &&
         std::equal(info.shape.begin() + 1, info.shape.end(),
                    tensor.shape.begin() + 1);
}

Error mismatch(const TensorInfo &info, const Tensor &tensor) {
  return {"input '" + info.name + "' expects " +
          describe(info.dtype, info.shape) +
          ", got: " + describe(tensor.dtype, tensor.shape)};
}

} // namespace

Expected<Batching>
oneflow::run::planBatches(const Entry &entry,
                          const std::vector<const Tensor *> &data) {
  Batching batching;
  batching.cut.assign(entry.inputs.size(), false);
  const TensorInfo *first = nullptr;
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    const TensorInfo &info = entry.inputs[i];
    const Tensor &tensor = *data[i];
    if (info.dtype != tensor.dtype)
      return mismatch(info, tensor);
    if (info.shape == tensor.shape)
      continue;
    if (!differsInBatchOnly(info, tensor) || info.shape[0] == 0)
      return mismatch(info, tensor);
    if (tensor.shape[0] == 0)
      return Error{"input '" + info.name + "' has no samples"};
    if (first && (batching.batch != info.shape[0] ||
                  batching.samples != tensor.shape[0]))
      return Error{"inputs '" + first->name + "' and '" + info.name +
                   "' differ from the plan in different ways: " +
                   std::to_string(batching.samples) +
                   " samples for a batch of " + std::to_string(batching.batch) +
                   ", and " + std::to_string(tensor.shape[0]) +
                   " for a batch of " + std::to_string(info.shape[0])};
    first = &info;
    batching.batch = info.shape[0];
    batching.samples = tensor.shape[0];
    batching.cut[i] = true;
  }
  if (!first)
    return batching;
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    const TensorInfo &info = entry.inputs[i];
    if (!batching.cut[i] && !info.shape.empty() &&
        info.shape[0] == batching.batch)
      return Error{"input '" + info.name + "' has " +
                   std::to_string(batching.batch) + " samples, while '" +
                   first->name + "' has " + std::to_string(batching.samples)};
  }
  for (const TensorInfo &output : entry.outputs)
    if (output.shape.empty() || output.shape[0] != batching.batch)
      return Error{
          "input '" + first->name + "' has " +
          std::to_string(batching.samples) + " samples for a plan of batch " +
          std::to_string(batching.batch) + ", but output '" + output.name +
          "' of shape " + describe(output.shape) +
          " does not have the batch as its leading extent, so the results of "
          "several batches cannot be put together"};
  return batching;
}

Expected<int64_t> oneflow::run::leadingBatch(const Entry &entry) {
  if (entry.inputs.empty())
    return Error{"entry '" + entry.name + "' has no inputs"};
  int64_t batch = -1;
  for (const TensorInfo &info : entry.inputs) {
    if (info.shape.empty() || info.shape[0] == 0 ||
        (batch >= 0 && info.shape[0] != batch))
      return Error{"input '" + info.name + "' of entry '" + entry.name +
                   "' has the shape " + describe(info.shape) +
                   ", expected the batch" +
                   (batch >= 0 ? " " + std::to_string(batch) : "") +
                   " as its leading extent"};
    batch = info.shape[0];
  }
  return batch;
}

void oneflow::run::gatherRows(const Tensor &source, const int64_t *rows,
                              int64_t count, Tensor &target) {
  size_t rowBytes = target.bytes.size() / static_cast<size_t>(target.shape[0]);
  if (rowBytes == 0)
    return;
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(target.bytes.data() + static_cast<size_t>(i) * rowBytes,
                source.bytes.data() + static_cast<size_t>(rows[i]) * rowBytes,
                rowBytes);
  std::fill(target.bytes.begin() + count * static_cast<int64_t>(rowBytes),
            target.bytes.end(), 0);
}

BatchRunner::BatchRunner(Session &session, const Entry &entry,
                         std::vector<const Tensor *> data, Batching batching)
    : session(session), entry(entry), data(std::move(data)),
      batching(std::move(batching)), staging(entry.inputs.size()),
      inputs(this->data), results(makeOutputs(entry)) {
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    if (!this->batching.cut[i])
      continue;
    staging[i] = Tensor::zeros(entry.inputs[i].dtype, entry.inputs[i].shape);
    inputs[i] = &staging[i];
  }
}

Expected<int64_t> BatchRunner::run(int64_t index) {
  int64_t count = 0;
  if (batching.isNeeded()) {
    int64_t begin = index * batching.batch;
    count = std::min(batching.batch, batching.samples - begin);
    std::vector<int64_t> rows(static_cast<size_t>(count));
    std::iota(rows.begin(), rows.end(), begin);
    for (size_t i = 0; i < staging.size(); ++i)
      if (batching.cut[i])
        gatherRows(*data[i], rows.data(), count, staging[i]);
  }
  if (Status status = session.run(entry, inputs, results); !status.ok())
    return status.error();
  return count;
}
