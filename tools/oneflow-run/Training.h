//===- oneflow-run/Training.h - the training loop ---------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the training entry over shuffled batches, epoch by epoch, and validates
// after each.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWRUN_TRAINING_H
#define ONEFLOW_TOOLS_ONEFLOWRUN_TRAINING_H

#include "Console.h"
#include "Handles.h"
#include "TrainingData.h"

#include <optional>

namespace oneflow::run {

struct TrainingOptions {
  int64_t epochs = 1;
  /// Ends training after so many steps, whatever the epochs; 0: no such end.
  int64_t steps = 0;
  uint64_t seed = 0;
};

struct EpochReport {
  int64_t epoch = 0;
  int64_t steps = 0;
  double meanLoss = 0;
  std::optional<Accuracy> validation;
  /// Of training alone.
  double seconds = 0;
};

struct TrainingReport {
  /// The loss of every step so far, also of a training that failed.
  std::vector<double> losses;
  /// The epoch of each step, from 1.
  std::vector<int64_t> epochOfStep;
  std::vector<EpochReport> epochs;
};

/// Index of the entry's loss: the output that the plan's metadata `loss_output`
/// names, or the first; it must be one float.
Expected<size_t> findLoss(const Plan &plan, const Entry &entry);

/// Trains, validating with `evaluator` unless it is null. An incomplete last
/// batch of an epoch is left out. `report` is filled as it goes, so that it
/// holds what was done before an error or an interrupt.
Status train(Session &session, const Entry &entry, size_t lossOutput,
             const Samples &samples, const Evaluator *evaluator,
             const TrainingOptions &options, Console &console,
             TrainingReport &report);

/// Writes `step,epoch,loss` lines, steps from 1.
Status writeLossLog(const std::string &path, const TrainingReport &report);

} // namespace oneflow::run

#endif // ONEFLOW_TOOLS_ONEFLOWRUN_TRAINING_H
