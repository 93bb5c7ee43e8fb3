//===- oneflow-run/Infer.cpp - runs an entry on tensors from files --------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `oneflow-run infer`: reads inputs, runs an entry once, in batches, or many
// times for a benchmark, and writes or describes the outputs.
//
//===----------------------------------------------------------------------===//

#include "Batches.h"
#include "Benchmark.h"
#include "Commands.h"
#include "Launch.h"
#include "TensorArguments.h"
#include "Trace.h"
#include "Weights.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace oneflow::run;
using json = nlohmann::ordered_json;

Command oneflow::run::inferCommand() {
  Command command = {
      "infer",
      "Run a plan on tensors from files, or time it",
      "PLAN",
      1,
      "Runs an entry of a plan on tensors from files (.npy, .npz, .pb or "
      ".safetensors).\nData with more samples than the plan's batch is run "
      "batch "
      "by batch. Without any\n--output the results are described, not kept.\n\n"
      "  oneflow-run infer model.ofp --input image=digits.npy --output "
      "logits=out.npy\n"
      "  oneflow-run infer model.ofp --input test.npz --output out.npz\n"
      "  oneflow-run infer model.ofp --bench 200 --json",
      {{"entry", "NAME", "The entry to run (default: main, or the only one)"},
       {"input", "[NAME=]FILE",
        "An input by name, or all inputs that FILE has tensors for;\n"
        "may be repeated",
        true},
       {"output", "[NAME=]FILE",
        "Where to write an output, or all of them (.npz); may be\nrepeated",
        true},
       {"output-dir", "DIR", "Write every output to DIR/NAME.npy"},
       {"weights", "FILE", "Replace variables before running"},
       {"bench", "[N]",
        "Time N runs (default 100) of one batch; without --input on\n"
        "zeros"},
       {"trace", "FILE", "Write a Chrome trace (opens in Perfetto)"},
       {"json", "", "Print one JSON document"}}};
  for (const Option &option : launchOptions())
    command.options.push_back(option);
  return command;
}

namespace {

/// What one invocation works with.
struct Inference {
  const Arguments &arguments;
  Console &console;
  Session &session;
  const Entry &entry;
  std::vector<Tensor> inputs;
};

std::vector<const Tensor *> pointers(const std::vector<Tensor> &tensors) {
  std::vector<const Tensor *> result;
  for (const Tensor &tensor : tensors)
    result.push_back(&tensor);
  return result;
}

/// Outputs over all batches, without padding.
Expected<std::vector<Tensor>> runAll(Inference &work,
                                     const Batching &batching) {
  BatchRunner runner(work.session, work.entry, pointers(work.inputs), batching);
  std::vector<Tensor> results;
  for (int64_t i = 0; i < batching.runs(); ++i) {
    if (Status status = checkInterrupt(); !status.ok())
      return status.error();
    Expected<int64_t> count = runner.run(i);
    if (!count.ok())
      return count.error();
    if (!batching.isNeeded())
      return runner.outputs();
    if (i == 0) {
      results = runner.outputs();
      for (Tensor &result : results) {
        result.shape[0] = batching.samples;
        result.bytes.clear();
      }
    }
    for (size_t j = 0; j < results.size(); ++j) {
      const Tensor &output = runner.outputs()[j];
      size_t bytes = output.bytes.size() / static_cast<size_t>(batching.batch) *
                     static_cast<size_t>(*count);
      results[j].bytes.insert(results[j].bytes.end(), output.bytes.begin(),
                              output.bytes.begin() +
                                  static_cast<std::ptrdiff_t>(bytes));
    }
    work.console.progress(format("batch %lld of %lld",
                                 static_cast<long long>(i + 1),
                                 static_cast<long long>(batching.runs())));
  }
  return results;
}

void describeOutput(const TensorInfo &info, const Tensor &tensor,
                    Console &console) {
  std::string line = info.name + ": " +
                     oneflow::tensorio::describe(tensor.dtype, tensor.shape) +
                     " =";
  constexpr uint64_t shown = 8;
  for (uint64_t i = 0; i < std::min(tensor.elementCount(), shown); ++i)
    line += format(" %g", oneflow::tensorio::elementAsDouble(tensor, i));
  console.print(line + (tensor.elementCount() > shown ? " ..." : ""));
}

Status inferOnce(Inference &work) {
  Expected<Batching> batching = planBatches(work.entry, pointers(work.inputs));
  if (!batching.ok())
    return batching.error();
  std::vector<std::string> files = work.arguments.all("output");
  std::string folder = work.arguments.get("output-dir");
  auto start = std::chrono::steady_clock::now();
  Expected<std::vector<Tensor>> outputs = runAll(work, *batching);
  if (!outputs.ok())
    return outputs.error();
  double seconds = secondsSince(start);
  if (work.session.rank() == 0)
    if (Status status = writeOutputs(work.entry, *outputs, files, folder);
        !status.ok())
      return status;

  json document = {{"entry", work.entry.name},
                   {"runs", batching->runs()},
                   {"seconds", seconds},
                   {"outputs", json::array()}};
  if (batching->isNeeded()) {
    work.console.print(
        format("%lld samples in %lld batches of %lld, %lld padded",
               static_cast<long long>(batching->samples),
               static_cast<long long>(batching->runs()),
               static_cast<long long>(batching->batch),
               static_cast<long long>(batching->padding())));
    document["samples"] = batching->samples;
    document["batch"] = batching->batch;
    document["padding"] = batching->padding();
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    const TensorInfo &info = work.entry.outputs[i];
    if (files.empty() && folder.empty())
      describeOutput(info, (*outputs)[i], work.console);
    document["outputs"].push_back(
        {{"name", info.name},
         {"dtype", oneflow::tensorio::dtypeName(info.dtype)},
         {"shape", (*outputs)[i].shape}});
  }
  work.console.document(
      document.dump(2, ' ', false, json::error_handler_t::replace));
  return {};
}

/// Inputs of just the plan's shapes: the first batch of longer data.
Status cutToOneBatch(Inference &work) {
  Expected<Batching> batching = planBatches(work.entry, pointers(work.inputs));
  if (!batching.ok())
    return batching.error();
  for (size_t i = 0; i < work.inputs.size(); ++i) {
    if (!batching->cut[i])
      continue;
    const TensorInfo &info = work.entry.inputs[i];
    int64_t count = std::min(batching->batch, batching->samples);
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < count; ++row)
      rows.push_back(row);
    Tensor batch = Tensor::zeros(info.dtype, info.shape);
    gatherRows(work.inputs[i], rows.data(), count, batch);
    work.inputs[i] = std::move(batch);
  }
  return {};
}

Status inferBenchmark(Inference &work, int64_t runs) {
  if (Status status = cutToOneBatch(work); !status.ok())
    return status;
  Expected<BenchmarkResult> result = benchmark(
      work.session, work.entry, pointers(work.inputs), runs, work.console);
  if (!result.ok())
    return result.error();
  json document = {{"entry", work.entry.name},
                   {"runs", result->runs},
                   {"median_seconds", result->median},
                   {"min_seconds", result->least},
                   {"p95_seconds", result->p95},
                   {"mean_seconds", result->mean},
                   {"runs_per_second", 1 / result->median}};
  work.console.print(
      format("%s: median %.3f ms, min %.3f ms, p95 %.3f ms over %lld runs",
             work.entry.name.c_str(), result->median * 1e3, result->least * 1e3,
             result->p95 * 1e3, static_cast<long long>(result->runs)));
  std::string throughput = format("%.1f runs/s", 1 / result->median);
  // Samples are counted where there is one batch that all inputs agree on.
  if (Expected<int64_t> batch = leadingBatch(work.entry); batch.ok()) {
    double samples = static_cast<double>(*batch) / result->median;
    throughput += format(", %.1f samples/s (batch %lld)", samples,
                         static_cast<long long>(*batch));
    document["batch"] = *batch;
    document["samples_per_second"] = samples;
  }
  work.console.print(throughput);
  work.console.document(
      document.dump(2, ' ', false, json::error_handler_t::replace));
  return {};
}

Expected<Entry> chooseEntry(const Plan &plan, const Arguments &arguments) {
  if (arguments.has("entry"))
    return plan.entry(arguments.get("entry"));
  std::vector<std::string> names = plan.entryNames();
  return plan.entry(names.size() == 1 ? names[0] : "main");
}

} // namespace

Status oneflow::run::runInfer(const Arguments &arguments,
                              std::string &usageError) {
  Expected<Launch> launch = readLaunch(arguments);
  Expected<std::optional<int64_t>> runs = arguments.integer("bench", 1);
  bool isBenchmark = arguments.has("bench");
  if (!launch.ok())
    usageError = launch.message();
  else if (!runs.ok())
    usageError = runs.message();
  else if (isBenchmark &&
           (arguments.has("output") || arguments.has("output-dir")))
    usageError = "'--bench' keeps no outputs";
  if (!usageError.empty())
    return {};

  Console console(launch->isLeader(), arguments.has("json"));
  Expected<Plan> plan = Plan::load(arguments.positionals[0]);
  if (!plan.ok())
    return plan.error();
  Expected<Entry> entry = chooseEntry(*plan, arguments);
  if (!entry.ok())
    return entry.error();
  if (Status status = checkOutputs(*entry, arguments.all("output"));
      !status.ok())
    return status;
  std::vector<Tensor> inputs;
  if (isBenchmark && !arguments.has("input")) {
    for (const TensorInfo &info : entry->inputs)
      inputs.push_back(Tensor::zeros(info.dtype, info.shape));
    console.print("no --input: timing on zeros");
  } else {
    Expected<std::vector<Tensor>> read =
        readInputs(*entry, arguments.all("input"));
    if (!read.ok())
      return read.error();
    inputs = std::move(*read);
  }

  Expected<Session> session =
      Session::create(*plan, launch->transport, launch->threads);
  if (!session.ok())
    return session.error();
  InterruptGuard guard(*session);
  if (arguments.has("weights"))
    if (Status status =
            loadWeights(*session, *plan, arguments.get("weights"), console);
        !status.ok())
      return status;
  std::string trace = arguments.get("trace");
  if (Status status = startTrace(*session, trace); !status.ok())
    return status;
  Inference work{arguments, console, *session, *entry, std::move(inputs)};
  Status status =
      isBenchmark ? inferBenchmark(work, runs->value_or(100)) : inferOnce(work);
  if (!status.ok())
    return status;
  return writeTrace(*session, trace);
}
