//===- oneflow-run/Train.cpp - trains a plan's variables ------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `oneflow-run train`: reads the data, sets up the session, trains, and saves
// what was asked for.
//
//===----------------------------------------------------------------------===//

#include "Batches.h"
#include "Commands.h"
#include "Launch.h"
#include "Trace.h"
#include "Training.h"
#include "Weights.h"
#include "oneflow/TensorIO/AtomicFile.h"
#include "oneflow/TensorIO/SafeTensors.h"
#include "oneflow/TensorIO/TensorFile.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

using namespace oneflow;
using namespace oneflow::run;
using json = nlohmann::ordered_json;

Command oneflow::run::trainCommand() {
  Command command = {
      "train",
      "Train a plan's variables on a file of samples",
      "PLAN",
      1,
      "Trains on FILE, whose tensors are named after the inputs of the "
      "training "
      "entry and\nhave one row per sample. The batch is the plan's. Samples "
      "are "
      "shuffled anew in\nevery epoch, in the same order on any number of "
      "ranks; "
      "an incomplete last batch\nis left out.\n\n"
      "  oneflow-run train model.ofp --data train.npz --validation test.npz "
      "--epochs 10\n"
      "  mpirun -n 4 oneflow-run train model.ofp --data train.npz --save "
      "model.safetensors",
      {{"data", "FILE", "Samples to train on (.npz or .safetensors); required"},
       {"validation", "FILE",
        "Held-out samples; the accuracy on them is reported after\n"
        "every epoch"},
       {"epochs", "N", "Passes over the data (default 1)"},
       {"steps", "N", "Train for N steps instead of whole epochs"},
       {"seed", "S", "Seed of the shuffling (default 0)"},
       {"entry", "NAME", "The training entry (default: train)"},
       {"eval-entry", "NAME",
        "The entry whose first output is class scores, for\n"
        "validation (default: eval)"},
       {"labels", "NAME",
        "The tensor of --validation with the class numbers\n"
        "(default: labels)"},
       {"learning-rate", "X",
        "Sets the plan's learning-rate variable before training"},
       {"weights", "FILE", "Replace variables before training"},
       {"save", "FILE", "Write the trained variables (.safetensors)"},
       {"save-state", "",
        "With --save: write all variables, also the optimizer's\n"
        "state, so that --weights resumes"},
       {"save-onnx", "FILE", "Write the source model with the new weights"},
       {"loss-log", "FILE", "Write the loss of every step as CSV"},
       {"trace", "FILE", "Write a Chrome trace (opens in Perfetto)"},
       {"json", "", "Print one JSON document"}}};
  for (const Option &option : launchOptions())
    command.options.push_back(option);
  return command;
}

namespace {

Expected<TrainingOptions> readOptions(const Arguments &arguments) {
  TrainingOptions options;
  Expected<std::optional<int64_t>> epochs = arguments.integer("epochs", 1);
  Expected<std::optional<int64_t>> steps = arguments.integer("steps", 1);
  Expected<std::optional<int64_t>> seed = arguments.integer("seed", 0);
  for (const auto *number : {&epochs, &steps, &seed})
    if (!number->ok())
      return number->error();
  if (!arguments.has("data"))
    return Error{"expected '--data FILE'"};
  if (*epochs && *steps)
    return Error{"'--epochs' and '--steps' exclude each other"};
  if (arguments.has("save-state") && !arguments.has("save"))
    return Error{"'--save-state' needs '--save FILE'"};
  std::string save = arguments.get("save");
  if (arguments.has("save")) {
    Expected<tensorio::FileFormat> format = tensorio::fileFormat(save);
    if (!format.ok() || *format != tensorio::FileFormat::SafeTensors)
      return Error{"expected a .safetensors file for '--save', got: '" + save +
                   "'"};
  }
  options.epochs = epochs->value_or(1);
  options.steps = steps->value_or(0);
  options.seed = static_cast<uint64_t>(seed->value_or(0));
  return options;
}

/// A plan for inference has no entry that trains, whatever is chosen.
Status checkTrains(const Plan &plan, const std::string &path) {
  std::string names;
  for (const std::string &name : plan.entryNames()) {
    if (name == "train")
      return {};
    names += (names.empty() ? "'" : ", '") + name + "'";
  }
  return Error{"'" + path + "' is for inference: its entries are " + names +
               "; compile the model with --train, or choose an entry with "
               "--entry"};
}

/// What can be known to fail before hours of training.
Status checkTargets(const Plan &plan, const Arguments &arguments) {
  for (const char *option : {"save", "save-onnx", "loss-log", "trace"})
    if (Status status = checkWritable(arguments.get(option)); !status.ok())
      return status;
  return arguments.has("save-onnx") ? checkSourceModel(plan) : Status();
}

Status setUpVariables(Session &session, const Plan &plan,
                      const Arguments &arguments,
                      std::optional<double> learningRate, Console &console) {
  if (arguments.has("weights"))
    if (Status status =
            loadWeights(session, plan, arguments.get("weights"), console);
        !status.ok())
      return status;
  if (!learningRate)
    return {};
  std::string variable = plan.metadata("learning_rate_variable");
  if (variable.empty())
    variable = "optimizer.learning_rate";
  return setScalar(session, plan, variable, *learningRate);
}

Status save(Session &session, const Plan &plan, const Arguments &arguments,
            const TrainingReport &report, Console &console) {
  bool wantsModel = arguments.has("save-onnx");
  if (!arguments.has("save") && !wantsModel)
    return {};
  // Reading is collective, so every rank reads before the first one writes.
  Expected<TensorMap> values =
      collectVariables(session, plan, arguments.has("save-state"));
  if (!values.ok())
    return values.error();
  if (session.rank() != 0)
    return {};
  if (arguments.has("save")) {
    tensorio::SafeTensors file;
    file.tensors.insert(values->begin(), values->end());
    file.metadata["step"] = std::to_string(report.losses.size());
    std::string path = arguments.get("save");
    if (Status status = tensorio::writeSafeTensors(path, file); !status.ok())
      return status;
    console.print(
        format("saved %zu variables to %s", file.tensors.size(), path.c_str()));
  }
  if (wantsModel) {
    Expected<tensorio::Bytes> model = trainedModel(plan, *values);
    if (!model.ok())
      return model.error();
    std::string path = arguments.get("save-onnx");
    if (Status status = tensorio::writeFile(path, *model); !status.ok())
      return status;
    console.print("saved the trained model to " + path);
  }
  return {};
}

void summarize(const TrainingReport &report, int64_t batch, Console &console) {
  double seconds = 0;
  json epochs = json::array();
  for (const EpochReport &epoch : report.epochs) {
    seconds += epoch.seconds;
    json row = {{"epoch", epoch.epoch},
                {"steps", epoch.steps},
                {"mean_loss", epoch.meanLoss},
                {"seconds", epoch.seconds}};
    if (epoch.validation)
      row["validation_accuracy"] = epoch.validation->ratio();
    epochs.push_back(std::move(row));
  }
  const EpochReport &last = report.epochs.back();
  double rate = static_cast<double>(report.losses.size()) *
                static_cast<double>(batch) / seconds;
  std::string line =
      format("trained %zu steps in %.2f s (%.0f samples/s): loss "
             "%.6f",
             report.losses.size(), seconds, rate, last.meanLoss);
  json document = {{"steps", report.losses.size()},
                   {"batch", batch},
                   {"seconds", seconds},
                   {"samples_per_second", rate},
                   {"first_loss", report.losses.front()},
                   {"final_loss", report.losses.back()},
                   {"mean_loss", last.meanLoss}};
  if (last.validation) {
    line +=
        format(", validation accuracy %.2f%%", 100 * last.validation->ratio());
    document["validation_accuracy"] = last.validation->ratio();
  }
  document["epochs"] = std::move(epochs);
  console.print(line);
  console.document(document.dump(2));
}

} // namespace

Status oneflow::run::runTrain(const Arguments &arguments,
                              std::string &usageError) {
  Expected<Launch> launch = readLaunch(arguments);
  Expected<TrainingOptions> options = readOptions(arguments);
  Expected<std::optional<double>> learningRate =
      arguments.number("learning-rate");
  usageError = !launch.ok()    ? launch.message()
               : !options.ok() ? options.message()
                               : learningRate.message();
  if (usageError.empty() && *learningRate &&
      !(**learningRate >= 0 && std::isfinite(**learningRate)))
    usageError = "expected --learning-rate of at least 0, got: " +
                 arguments.get("learning-rate", "");
  if (!usageError.empty())
    return {};

  Console console(launch->isLeader(), arguments.has("json"));
  Expected<Plan> plan = Plan::load(arguments.positionals[0]);
  if (!plan.ok())
    return plan.error();
  if (!arguments.has("entry"))
    if (Status status = checkTrains(*plan, arguments.positionals[0]);
        !status.ok())
      return status;
  Expected<Entry> entry = plan->entry(arguments.get("entry", "train"));
  if (!entry.ok())
    return entry.error();
  if (plan->metadata("optimizer") == "none")
    return Error{"the plan was compiled with --optimizer none: its entry hands "
                 "gradients out and updates nothing; compile it with adamw or "
                 "sgd to train"};
  Expected<size_t> loss = findLoss(*plan, *entry);
  if (!loss.ok())
    return loss.error();
  std::string dataPath = arguments.get("data");
  Expected<TensorMap> file = tensorio::readTensors(dataPath);
  if (!file.ok())
    return file.error();
  Expected<Samples> samples = selectSamples(*entry, std::move(*file), dataPath);
  if (!samples.ok())
    return samples.error();
  std::optional<Evaluator> evaluator;
  if (arguments.has("validation")) {
    Expected<Entry> evalEntry =
        plan->entry(arguments.get("eval-entry", "eval"));
    if (!evalEntry.ok())
      return evalEntry.error();
    Expected<Evaluator> created =
        Evaluator::create(*evalEntry, arguments.get("validation"),
                          arguments.get("labels", "labels"));
    if (!created.ok())
      return created.error();
    evaluator = std::move(*created);
  }
  if (launch->isLeader())
    if (Status status = checkTargets(*plan, arguments); !status.ok())
      return status;

  Expected<Session> session =
      Session::create(*plan, launch->transport, launch->threads);
  if (!session.ok())
    return session.error();
  InterruptGuard guard(*session);
  if (Status status =
          setUpVariables(*session, *plan, arguments, *learningRate, console);
      !status.ok())
    return status;
  if (Status status = startTrace(*session, arguments.get("trace"));
      !status.ok())
    return status;

  TrainingReport report;
  Status trained =
      train(*session, *entry, *loss, *samples,
            evaluator ? &*evaluator : nullptr, *options, console, report);
  // The log is most wanted of a training that failed.
  if (arguments.has("loss-log") && session->rank() == 0) {
    Status status = writeLossLog(arguments.get("loss-log"), report);
    if (trained.ok() && !status.ok())
      return status;
  }
  if (!trained.ok())
    return trained;
  if (Status status = writeTrace(*session, arguments.get("trace"));
      !status.ok())
    return status;
  if (Status status = save(*session, *plan, arguments, report, console);
      !status.ok())
    return status;
  summarize(report, entry->inputs[0].shape[0], console);
  return {};
}
