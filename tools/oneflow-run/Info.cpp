//===- oneflow-run/Info.cpp - what a plan holds ---------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `oneflow-run info`: the plan's signature and sizes, for people or as JSON.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Console.h"
#include "Handles.h"
#include "Launch.h"

#include <nlohmann/json.hpp>

using namespace oneflow::run;
using json = nlohmann::ordered_json;

Command oneflow::run::infoCommand() {
  return {
      "info",
      "Show what a plan holds",
      "PLAN",
      1,
      "Shows a plan's entries with their inputs and outputs, its variables, "
      "the "
      "ranks\nit runs on and the memory each of them needs. Runs nothing.\n\n"
      "  oneflow-run info model.ofp\n"
      "  oneflow-run info model.ofp --json",
      {{"json", "", "Print one JSON document"}}};
}

namespace {

/// The keys that this tool gives a meaning to, and what compilers usually note.
/// The C API answers for keys, it does not list them.
constexpr const char *kMetadataKeys[] = {
    "source",   "loss_output", "learning_rate_variable",
    "producer", "mesh",        "optimizer",
    "loss",     "hints",       "flags"};

json toJson(const TensorInfo &info) {
  return {{"name", info.name},
          {"dtype", oneflow::tensorio::dtypeName(info.dtype)},
          {"shape", info.shape}};
}

Expected<json> describePlan(const Plan &plan) {
  const of_plan_t *handle = plan.handle();
  json document = {{"ranks", of_plan_get_rank_count(handle)},
                   {"variable_bytes", of_plan_get_variable_bytes(handle)},
                   {"kernels", of_plan_get_kernel_count(handle)},
                   {"entries", json::array()},
                   {"variables", json::array()},
                   {"metadata", json::object()}};
  for (const std::string &name : plan.entryNames()) {
    Expected<Entry> entry = plan.entry(name);
    if (!entry.ok())
      return entry.error();
    json row = {{"name", name},
                {"inputs", json::array()},
                {"outputs", json::array()},
                {"arena_bytes", of_plan_get_arena_bytes(handle, entry->index)},
                {"tasks", of_plan_get_task_count(handle, entry->index)}};
    for (const TensorInfo &info : entry->inputs)
      row["inputs"].push_back(toJson(info));
    for (const TensorInfo &info : entry->outputs)
      row["outputs"].push_back(toJson(info));
    document["entries"].push_back(std::move(row));
  }
  Expected<std::vector<TensorInfo>> variables = plan.variables();
  if (!variables.ok())
    return variables.error();
  for (const TensorInfo &info : *variables) {
    json row = toJson(info);
    row["trainable"] = info.trainable;
    document["variables"].push_back(std::move(row));
  }
  for (const char *key : kMetadataKeys)
    if (of_plan_get_metadata(handle, key))
      document["metadata"][key] = plan.metadata(key);
  size_t modelBytes = 0;
  of_plan_get_source_model(handle, &modelBytes);
  document["source_model_bytes"] = modelBytes;
  return document;
}

void printTensors(const char *title, const json &rows, Console &console) {
  if (rows.empty())
    return;
  console.print(format("  %s", title));
  size_t width = 0;
  for (const json &row : rows)
    width = std::max(width, row["name"].get<std::string>().size());
  for (const json &row : rows) {
    std::string shape;
    for (const json &extent : row["shape"])
      shape += (shape.empty() ? "" : ", ") + extent.dump();
    console.print(format("    %-*s  %-4s [%s]%s", static_cast<int>(width),
                         row["name"].get<std::string>().c_str(),
                         row["dtype"].get<std::string>().c_str(), shape.c_str(),
                         row.value("trainable", false) ? "  trainable" : ""));
  }
}

void printPlan(const std::string &path, const json &document,
               Console &console) {
  console.print(
      format("%s: %d ranks, %d kernels, %llu bytes of variables on each "
             "rank",
             path.c_str(), document["ranks"].get<int>(),
             document["kernels"].get<int>(),
             document["variable_bytes"].get<unsigned long long>()));
  for (const json &entry : document["entries"]) {
    console.print(format("entry %s: %d tasks, %llu bytes of arena on each rank",
                         entry["name"].get<std::string>().c_str(),
                         entry["tasks"].get<int>(),
                         entry["arena_bytes"].get<unsigned long long>()));
    printTensors("inputs", entry["inputs"], console);
    printTensors("outputs", entry["outputs"], console);
  }
  if (!document["variables"].empty()) {
    console.print(format("%zu variables", document["variables"].size()));
    printTensors("of the plan", document["variables"], console);
  }
  for (const auto &[key, value] : document["metadata"].items())
    console.print("metadata " + key + ": " + value.get<std::string>());
  if (size_t bytes = document["source_model_bytes"].get<size_t>())
    console.print(format("source model: %zu bytes", bytes));
}

} // namespace

Status oneflow::run::runInfo(const Arguments &arguments, std::string &) {
  const std::string &path = arguments.positionals[0];
  Expected<Plan> plan = Plan::load(path);
  if (!plan.ok())
    return plan.error();
  Expected<json> document = describePlan(*plan);
  if (!document.ok())
    return document.error();
  Console console(launcherRank() == 0, arguments.has("json"));
  if (arguments.has("json"))
    console.document(
        document->dump(2, ' ', false, json::error_handler_t::replace));
  else
    printPlan(path, *document, console);
  return {};
}
