//===- FakeRuntime.cpp - a stand-in for the runtime -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the runtime's C API with one model written by hand, so that tests
// of oneflow-run depend on neither the compiler nor the real runtime, and can
// compare with NumPy: softmax regression on images of 64 pixels, trained by
// plain gradient descent on the mean cross-entropy. Its plans are text files, a
// line "fake plan" and then KEY=VALUE lines:
//
//   batch=32            leading extent of all inputs
//   delay_ms=0          time that every run takes, in which it can be cancelled
//   inference=          only `main` of the entries
//   source_model=FILE   what of_plan_get_source_model returns
//
// and any other key is metadata. With the transport "mpi" a session is the rank
// that Open MPI's launcher would have told it, but talks to nobody. Entries:
// `train` (image, labels -> correct, loss), `eval` and `main` (image ->
// logits), `halves` (image -> scores: the logits as two positions of five
// classes each), `sum` (image -> total).
//
//===----------------------------------------------------------------------===//

#include "oneflow/Runtime/RuntimeC.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

struct of_status_t {
  of_status_code code;
  std::string message;
  std::string location;
};

namespace {

constexpr int64_t kPixels = 64;
constexpr int64_t kClasses = 10;

struct Info {
  const char *name;
  of_dtype dtype;
  std::vector<int64_t> shape;
  bool trainable = false;
};

struct EntryRow {
  const char *name;
  std::vector<Info> inputs;
  std::vector<Info> outputs;
};

enum VariableIndex { kWeight, kBias, kRate, kSteps };

of_status_t *fail(of_status_code code, const std::string &message,
                  const std::string &location = "") {
  return new of_status_t{code, message, location};
}

size_t byteSize(of_dtype dtype, const std::vector<int64_t> &shape) {
  size_t bytes = of_dtype_size(dtype);
  for (int64_t extent : shape)
    bytes *= static_cast<size_t>(extent);
  return bytes;
}

bool matches(const of_tensor_t &tensor, const Info &info) {
  return tensor.dtype == info.dtype &&
         static_cast<size_t>(tensor.rank) == info.shape.size() &&
         std::equal(info.shape.begin(), info.shape.end(), tensor.shape);
}

of_status_t *fill(const std::vector<Info> &rows, int32_t index,
                  of_tensor_info_t *info) {
  if (index < 0 || static_cast<size_t>(index) >= rows.size())
    return fail(OF_STATUS_INVALID_ARGUMENT, "index out of range");
  const Info &row = rows[static_cast<size_t>(index)];
  *info = {row.name,         "",
           row.dtype,        static_cast<int32_t>(row.shape.size()),
           row.shape.data(), row.trainable};
  return nullptr;
}

} // namespace

struct of_plan_t {
  std::map<std::string, std::string> keys;
  std::string sourceModel;
  int64_t batch = 32;
  int delayMs = 0;
  std::vector<EntryRow> entries;
  std::vector<Info> variables;
};

struct of_session_t {
  const of_plan_t *plan;
  std::vector<std::string> values;
  std::atomic<bool> cancelled{false};
  std::atomic<bool> running{false};
  bool unusable = false;
  int32_t rank = 0;

  float *floats(VariableIndex index) {
    return reinterpret_cast<float *>(values[index].data());
  }
};

of_status_code of_status_get_code(const of_status_t *status) {
  return status ? status->code : OF_STATUS_OK;
}
const char *of_status_get_message(const of_status_t *status) {
  return status ? status->message.c_str() : "";
}
const char *of_status_get_location(const of_status_t *status) {
  return status ? status->location.c_str() : "";
}
void of_status_free(of_status_t *status) { delete status; }

size_t of_dtype_size(of_dtype dtype) {
  constexpr size_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return sizes[dtype];
}
const char *of_dtype_name(of_dtype) { return "?"; }
const char *of_version(void) { return "0.0.0-fake"; }

of_status_t *of_plan_load(const char *path, const of_plan_options_t *,
                          of_plan_t **result) {
  std::ifstream file(path);
  std::string line;
  if (!file)
    return fail(OF_STATUS_IO, std::string("cannot open '") + path + "'");
  if (!std::getline(file, line) || line != "fake plan")
    return fail(OF_STATUS_INVALID_PLAN,
                std::string("'") + path + "' is not a plan");
  auto plan = std::make_unique<of_plan_t>();
  while (std::getline(file, line)) {
    size_t equals = line.find('=');
    if (equals != std::string::npos)
      plan->keys[line.substr(0, equals)] = line.substr(equals + 1);
  }
  if (plan->keys.count("batch"))
    plan->batch = std::stoll(plan->keys["batch"]);
  if (plan->keys.count("delay_ms"))
    plan->delayMs = std::stoi(plan->keys["delay_ms"]);
  if (plan->keys.count("source_model")) {
    std::ifstream model(plan->keys["source_model"], std::ios::binary);
    std::stringstream text;
    text << model.rdbuf();
    plan->sourceModel = text.str();
  }
  Info image{"image", OF_DTYPE_F32, {plan->batch, 1, 8, 8}};
  Info labels{"labels", OF_DTYPE_I64, {plan->batch}};
  Info logits{"logits", OF_DTYPE_F32, {plan->batch, kClasses}};
  plan->entries = {
      {"train",
       {image, labels},
       {{"correct", OF_DTYPE_I64, {}}, {"loss", OF_DTYPE_F32, {}}}},
      {"eval", {image}, {logits}},
      {"main", {image}, {logits}},
      {"halves",
       {image},
       {{"scores", OF_DTYPE_F32, {plan->batch, 2, kClasses / 2}}}},
      {"sum", {image}, {{"total", OF_DTYPE_F32, {}}}}};
  if (plan->keys.count("inference"))
    plan->entries = {{"main", {image}, {logits}}};
  plan->variables = {{"weight", OF_DTYPE_F32, {kPixels, kClasses}, true},
                     {"bias", OF_DTYPE_F32, {kClasses}, true},
                     {"optimizer.learning_rate", OF_DTYPE_F32, {}},
                     {"optimizer.steps", OF_DTYPE_I64, {}}};
  *result = plan.release();
  return nullptr;
}
void of_plan_free(of_plan_t *plan) { delete plan; }
int32_t of_plan_get_rank_count(const of_plan_t *) { return 1; }
int32_t of_plan_get_entry_count(const of_plan_t *plan) {
  return static_cast<int32_t>(plan->entries.size());
}
const char *of_plan_get_entry_name(const of_plan_t *plan, int32_t entry) {
  return plan->entries[static_cast<size_t>(entry)].name;
}
int32_t of_plan_find_entry(const of_plan_t *plan, const char *name) {
  for (size_t i = 0; i < plan->entries.size(); ++i)
    if (!std::strcmp(plan->entries[i].name, name))
      return static_cast<int32_t>(i);
  return -1;
}
int32_t of_plan_get_input_count(const of_plan_t *plan, int32_t entry) {
  return static_cast<int32_t>(
      plan->entries[static_cast<size_t>(entry)].inputs.size());
}
int32_t of_plan_get_output_count(const of_plan_t *plan, int32_t entry) {
  return static_cast<int32_t>(
      plan->entries[static_cast<size_t>(entry)].outputs.size());
}
of_status_t *of_plan_get_input(const of_plan_t *plan, int32_t entry,
                               int32_t index, of_tensor_info_t *info) {
  return fill(plan->entries[static_cast<size_t>(entry)].inputs, index, info);
}
of_status_t *of_plan_get_output(const of_plan_t *plan, int32_t entry,
                                int32_t index, of_tensor_info_t *info) {
  return fill(plan->entries[static_cast<size_t>(entry)].outputs, index, info);
}
int32_t of_plan_get_variable_count(const of_plan_t *plan) {
  return static_cast<int32_t>(plan->variables.size());
}
of_status_t *of_plan_get_variable(const of_plan_t *plan, int32_t index,
                                  of_tensor_info_t *info) {
  return fill(plan->variables, index, info);
}
int32_t of_plan_find_variable(const of_plan_t *plan, const char *name) {
  for (size_t i = 0; i < plan->variables.size(); ++i)
    if (!std::strcmp(plan->variables[i].name, name))
      return static_cast<int32_t>(i);
  return -1;
}
const char *of_plan_get_metadata(const of_plan_t *plan, const char *key) {
  auto found = plan->keys.find(key);
  return found == plan->keys.end() ? nullptr : found->second.c_str();
}
const void *of_plan_get_source_model(const of_plan_t *plan, size_t *bytes) {
  *bytes = plan->sourceModel.size();
  return plan->sourceModel.data();
}
uint64_t of_plan_get_arena_bytes(const of_plan_t *, int32_t) { return 4096; }
uint64_t of_plan_get_variable_bytes(const of_plan_t *) { return 2612; }
int32_t of_plan_get_task_count(const of_plan_t *, int32_t) { return 3; }
int32_t of_plan_get_kernel_count(const of_plan_t *) { return 2; }

of_status_t *of_session_create(const of_plan_t *plan,
                               const of_session_options_t *options,
                               of_session_t **result) {
  auto session = std::make_unique<of_session_t>();
  session->plan = plan;
  const char *rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (!std::strcmp(options->transport, "mpi"))
    session->rank = rank ? std::atoi(rank) : 0;
  for (const Info &info : plan->variables)
    session->values.emplace_back(byteSize(info.dtype, info.shape), '\0');
  *session->floats(kRate) = 0.5f;
  *result = session.release();
  return nullptr;
}
void of_session_free(of_session_t *session) { delete session; }
int32_t of_session_get_rank(const of_session_t *session) {
  return session->rank;
}

namespace {

/// Logits of one image.
void computeLogits(of_session_t &session, const float *image, float *logits) {
  const float *weight = session.floats(kWeight);
  for (int64_t c = 0; c < kClasses; ++c) {
    double sum = session.floats(kBias)[c];
    for (int64_t p = 0; p < kPixels; ++p)
      sum += double(image[p]) * weight[p * kClasses + c];
    logits[c] = static_cast<float>(sum);
  }
}

of_status_t *trainStep(of_session_t &session, const float *images,
                       const int64_t *labels, int64_t &correct, float &loss) {
  int64_t batch = session.plan->batch;
  std::vector<double> weightGrad(kPixels * kClasses), biasGrad(kClasses);
  double total = 0;
  correct = 0;
  for (int64_t b = 0; b < batch; ++b) {
    if (labels[b] < 0 || labels[b] >= kClasses)
      return fail(OF_STATUS_KERNEL_FAILED,
                  "label " + std::to_string(labels[b]) + " is out of range",
                  "model.onnx:loss");
    float logits[kClasses];
    computeLogits(session, images + b * kPixels, logits);
    int64_t best = 0;
    double sum = 0;
    for (int64_t c = 0; c < kClasses; ++c) {
      sum += std::exp(double(logits[c]));
      best = logits[c] > logits[best] ? c : best;
    }
    correct += best == labels[b];
    total += std::log(sum) - logits[labels[b]];
    for (int64_t c = 0; c < kClasses; ++c) {
      double grad = (std::exp(double(logits[c])) / sum - (c == labels[b])) /
                    static_cast<double>(batch);
      biasGrad[c] += grad;
      for (int64_t p = 0; p < kPixels; ++p)
        weightGrad[p * kClasses + c] += grad * images[b * kPixels + p];
    }
  }
  loss = static_cast<float>(total / static_cast<double>(batch));
  float rate = *session.floats(kRate);
  for (int64_t i = 0; i < kPixels * kClasses; ++i)
    session.floats(kWeight)[i] -= rate * static_cast<float>(weightGrad[i]);
  for (int64_t c = 0; c < kClasses; ++c)
    session.floats(kBias)[c] -= rate * static_cast<float>(biasGrad[c]);
  ++*reinterpret_cast<int64_t *>(session.values[kSteps].data());
  return nullptr;
}

/// Whether the run's delay was waited for without a cancel.
bool waitDelay(of_session_t &session) {
  for (int waited = 0; waited < session.plan->delayMs; ++waited) {
    if (session.cancelled)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return !session.cancelled;
}

} // namespace

of_status_t *of_session_run(of_session_t *session, int32_t index,
                            const of_tensor_t *inputs, int32_t inputCount,
                            const of_tensor_t *outputs, int32_t outputCount) {
  if (session->unusable)
    return fail(OF_STATUS_UNUSABLE, "the session failed before");
  const EntryRow &entry = session->plan->entries[static_cast<size_t>(index)];
  if (static_cast<size_t>(inputCount) != entry.inputs.size() ||
      static_cast<size_t>(outputCount) != entry.outputs.size())
    return fail(OF_STATUS_INVALID_ARGUMENT, "wrong number of tensors");
  for (int32_t i = 0; i < inputCount; ++i)
    if (!matches(inputs[i], entry.inputs[static_cast<size_t>(i)]))
      return fail(OF_STATUS_INVALID_ARGUMENT, "input has a wrong shape");
  for (int32_t i = 0; i < outputCount; ++i)
    if (!matches(outputs[i], entry.outputs[static_cast<size_t>(i)]))
      return fail(OF_STATUS_INVALID_ARGUMENT, "output has a wrong shape");

  session->cancelled = false;
  session->running = true;
  bool waited = waitDelay(*session);
  session->running = false;
  if (!waited) {
    session->unusable = true;
    return fail(OF_STATUS_CANCELLED, "the run was cancelled");
  }
  std::vector<float> images(static_cast<size_t>(session->plan->batch) *
                            kPixels);
  std::memcpy(images.data(), inputs[0].data, images.size() * sizeof(float));
  if (!std::strcmp(entry.name, "train")) {
    std::vector<int64_t> labels(static_cast<size_t>(session->plan->batch));
    std::memcpy(labels.data(), inputs[1].data, labels.size() * sizeof(int64_t));
    int64_t correct;
    float loss;
    if (of_status_t *status =
            trainStep(*session, images.data(), labels.data(), correct, loss)) {
      session->unusable = true;
      return status;
    }
    std::memcpy(outputs[0].data, &correct, sizeof(correct));
    std::memcpy(outputs[1].data, &loss, sizeof(loss));
    return nullptr;
  }
  if (!std::strcmp(entry.name, "sum")) {
    double total = 0;
    for (float pixel : images)
      total += pixel;
    float narrow = static_cast<float>(total);
    std::memcpy(outputs[0].data, &narrow, sizeof(narrow));
    return nullptr;
  }
  for (int64_t b = 0; b < session->plan->batch; ++b) {
    float logits[kClasses];
    computeLogits(*session, images.data() + b * kPixels, logits);
    std::memcpy(static_cast<char *>(outputs[0].data) +
                    static_cast<size_t>(b) * sizeof(logits),
                logits, sizeof(logits));
  }
  return nullptr;
}

void of_session_cancel(of_session_t *session) {
  if (session->running)
    session->cancelled = true;
}

of_status_t *of_session_get_variable(of_session_t *session, int32_t index,
                                     const of_tensor_t *value) {
  if (!matches(*value, session->plan->variables[static_cast<size_t>(index)]))
    return fail(OF_STATUS_INVALID_ARGUMENT, "variable has a wrong shape");
  const std::string &bytes = session->values[static_cast<size_t>(index)];
  std::memcpy(value->data, bytes.data(), bytes.size());
  return nullptr;
}

of_status_t *of_session_set_variable(of_session_t *session, int32_t index,
                                     const of_tensor_t *value) {
  if (!matches(*value, session->plan->variables[static_cast<size_t>(index)]))
    return fail(OF_STATUS_INVALID_ARGUMENT, "variable has a wrong shape");
  std::string &bytes = session->values[static_cast<size_t>(index)];
  std::memcpy(bytes.data(), value->data, bytes.size());
  return nullptr;
}

of_status_t *of_session_start_trace(of_session_t *, size_t) { return nullptr; }
of_status_t *of_session_write_trace(of_session_t *, const char *path) {
  std::ofstream file(path);
  file << "{\"traceEvents\": []}\n";
  return file ? nullptr : fail(OF_STATUS_IO, "cannot write the trace");
}
void of_session_get_counters(const of_session_t *, of_counters_t *counters) {
  size_t size = counters->struct_size;
  std::memset(counters, 0, size);
  counters->struct_size = size;
}
