//===- TrainingData.h - samples for training and validation -----*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files of samples, compared with the inputs of an entry, and the batches of a
// training epoch.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWRUN_TRAININGDATA_H
#define ONEFLOW_TOOLS_ONEFLOWRUN_TRAININGDATA_H

#include "Handles.h"

namespace oneflow::run {

/// Tensors with one row per sample.
struct Samples {
  /// In the order of the entry's inputs.
  std::vector<Tensor> tensors;
  int64_t count = 0;

  std::vector<const Tensor *> pointers() const;
};

/// The entry's inputs out of a file's tensors. Every input must have the batch
/// as its leading extent in the plan; tensors must agree with the plan but for
/// that extent, and have the same number of samples, at least one. `path`
/// stands in messages.
Expected<Samples> selectSamples(const Entry &entry, TensorMap file,
                                const std::string &path);

/// How well class scores agree with labels, counted by label.
struct Accuracy {
  int64_t correct = 0;
  int64_t total = 0;

  double ratio() const {
    return total ? static_cast<double>(correct) / static_cast<double>(total)
                 : 0;
  }
};

/// Class scores of an entry against the labels of held-out samples.
class Evaluator {
public:
  /// The first output of `entry` must be scores [batch, classes], or [batch,
  /// positions..., classes]; `labels` names the file's tensor of class numbers,
  /// one integer for each sample, or for each position of it.
  static Expected<Evaluator> create(const Entry &entry, const std::string &path,
                                    const std::string &labels);

  /// Runs all samples in batches. A score that is NaN never wins; of equal ones
  /// the first does. An error once interrupted.
  Expected<Accuracy> evaluate(Session &session) const;

private:
  Entry entry;
  Samples samples;
  Tensor labels;
  /// Labels of each sample.
  int64_t positions = 1;
};

} // namespace oneflow::run

#endif // ONEFLOW_TOOLS_ONEFLOWRUN_TRAININGDATA_H
