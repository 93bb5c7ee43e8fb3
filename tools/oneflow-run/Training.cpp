//===- oneflow-run/Training.cpp - the training loop -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rank runs the same loop over the same data in the same order; the
// runtime takes each rank's part of a batch.
//
//===----------------------------------------------------------------------===//

#include "Training.h"
#include "Batches.h"
#include "Launch.h"
#include "Shuffle.h"
#include "oneflow/TensorIO/AtomicFile.h"

#include <cmath>

using namespace oneflow;
using namespace oneflow::run;
using oneflow::tensorio::DType;
using oneflow::tensorio::elementAsDouble;

Expected<size_t> oneflow::run::findLoss(const Plan &plan, const Entry &entry) {
  std::string name = plan.metadata("loss_output");
  size_t index = 0;
  while (!name.empty() && index < entry.outputs.size() &&
         entry.outputs[index].name != name)
    ++index;
  if (index >= entry.outputs.size())
    return Error{"entry '" + entry.name + "' has no " +
                 (name.empty() ? "outputs" : "output '" + name + "'") +
                 " to take the loss from"};
  const TensorInfo &info = entry.outputs[index];
  std::optional<tensorio::TensorSize> size =
      tensorio::tensorSize(info.dtype, info.shape);
  if (info.dtype < DType::F16 || !size || size->elements != 1)
    return Error{"output '" + info.name + "' is " +
                 tensorio::describe(info.dtype, info.shape) +
                 ", expected one float as the loss"};
  return index;
}

namespace {

/// One training, with the state that lasts from step to step.
class Loop {
public:
  Loop(Session &session, const Entry &entry, size_t lossOutput,
       const Samples &samples, const TrainingOptions &options, Console &console,
       TrainingReport &report)
      : session(session), entry(entry), lossOutput(lossOutput),
        samples(samples), options(options), console(console), report(report),
        batch(entry.inputs[0].shape[0]), outputs(makeOutputs(entry)) {
    for (const TensorInfo &info : entry.inputs)
      staging.push_back(Tensor::zeros(info.dtype, info.shape));
    for (const Tensor &tensor : staging)
      inputs.push_back(&tensor);
  }

  int64_t stepsPerEpoch() const { return samples.count / batch; }

  bool isDone(int64_t epochsDone) const {
    if (options.steps > 0)
      return stepsDone() >= options.steps;
    return epochsDone >= options.epochs;
  }

  Status runEpoch(int64_t epoch, EpochReport &result) {
    std::vector<int64_t> order =
        epochOrder(samples.count, options.seed, static_cast<uint64_t>(epoch));
    auto start = std::chrono::steady_clock::now();
    double sum = 0;
    result.epoch = epoch;
    for (int64_t i = 0; i < stepsPerEpoch(); ++i) {
      if (options.steps > 0 && stepsDone() >= options.steps)
        break;
      if (Status status = runStep(epoch, order.data() + i * batch);
          !status.ok())
        return status;
      sum += report.losses.back();
      ++result.steps;
      console.progress(format(
          "epoch %lld, step %lld of %lld: loss %.4f",
          static_cast<long long>(epoch), static_cast<long long>(i + 1),
          static_cast<long long>(stepsPerEpoch()), report.losses.back()));
    }
    result.meanLoss = sum / static_cast<double>(result.steps);
    result.seconds = secondsSince(start);
    return {};
  }

private:
  int64_t stepsDone() const {
    return static_cast<int64_t>(report.losses.size());
  }

  Status runStep(int64_t epoch, const int64_t *rows) {
    if (Status status = checkInterrupt(); !status.ok())
      return status;
    for (size_t i = 0; i < staging.size(); ++i)
      gatherRows(samples.tensors[i], rows, batch, staging[i]);
    if (Status status = session.run(entry, inputs, outputs); !status.ok())
      return status;
    double loss = elementAsDouble(outputs[lossOutput], 0);
    report.losses.push_back(loss);
    report.epochOfStep.push_back(epoch);
    if (!std::isfinite(loss) && !warned) {
      warned = true;
      console.warn(format("the loss of step %lld is %g",
                          static_cast<long long>(stepsDone()), loss));
    }
    return {};
  }

  Session &session;
  const Entry &entry;
  size_t lossOutput;
  const Samples &samples;
  const TrainingOptions &options;
  Console &console;
  TrainingReport &report;
  int64_t batch;
  std::vector<Tensor> staging;
  std::vector<const Tensor *> inputs;
  std::vector<Tensor> outputs;
  bool warned = false;
};

void printEpoch(const EpochReport &epoch, int64_t batch, Console &console) {
  std::string line =
      format("epoch %lld: loss %.6f", static_cast<long long>(epoch.epoch),
             epoch.meanLoss);
  if (epoch.validation)
    line += format(", validation accuracy %.2f%% (%lld of %lld)",
                   100 * epoch.validation->ratio(),
                   static_cast<long long>(epoch.validation->correct),
                   static_cast<long long>(epoch.validation->total));
  double samples = static_cast<double>(epoch.steps * batch);
  console.print(line + format(", %.2f s, %.0f samples/s", epoch.seconds,
                              samples / epoch.seconds));
}

} // namespace

Status oneflow::run::train(Session &session, const Entry &entry,
                           size_t lossOutput, const Samples &samples,
                           const Evaluator *evaluator,
                           const TrainingOptions &options, Console &console,
                           TrainingReport &report) {
  Loop loop(session, entry, lossOutput, samples, options, console, report);
  int64_t batch = entry.inputs[0].shape[0];
  if (loop.stepsPerEpoch() == 0)
    return Error{"the data has " + std::to_string(samples.count) +
                 " samples, fewer than the plan's batch of " +
                 std::to_string(batch)};
  for (int64_t epoch = 1; !loop.isDone(epoch - 1); ++epoch) {
    EpochReport result;
    if (Status status = loop.runEpoch(epoch, result); !status.ok())
      return status;
    if (evaluator) {
      Expected<Accuracy> accuracy = evaluator->evaluate(session);
      if (!accuracy.ok())
        return accuracy.error();
      result.validation = *accuracy;
    }
    printEpoch(result, batch, console);
    report.epochs.push_back(result);
  }
  return {};
}

Status oneflow::run::writeLossLog(const std::string &path,
                                  const TrainingReport &report) {
  std::string text = "step,epoch,loss\n";
  for (size_t i = 0; i < report.losses.size(); ++i)
    text +=
        format("%zu,%lld,%.17g\n", i + 1,
               static_cast<long long>(report.epochOfStep[i]), report.losses[i]);
  return tensorio::writeFile(path, {text.begin(), text.end()});
}
