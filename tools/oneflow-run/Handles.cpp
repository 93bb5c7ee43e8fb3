//===- oneflow-run/Handles.cpp - the C API as objects ---------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The enumerations of both sides have equal values; the casts rely on it.
//
//===----------------------------------------------------------------------===//

#include "Handles.h"

using namespace oneflow;
using namespace oneflow::run;
using oneflow::tensorio::DType;

static_assert(static_cast<int>(DType::Bool) == OF_DTYPE_BOOL);
static_assert(static_cast<int>(DType::U8) == OF_DTYPE_U8);
static_assert(static_cast<int>(DType::F16) == OF_DTYPE_F16);
static_assert(static_cast<int>(DType::F64) == OF_DTYPE_F64);

namespace {

Expected<TensorInfo> toInfo(of_status_t *status, const of_tensor_info_t &info) {
  if (Status failed = takeStatus(status); !failed.ok())
    return failed.error();
  TensorInfo result{info.name ? info.name : "", static_cast<DType>(info.dtype),
                    tensorio::Shape(info.shape, info.shape + info.rank),
                    info.trainable != 0};
  // Everything is allocated by these shapes.
  if (!tensorio::tensorSize(result.dtype, result.shape))
    return Error{"the plan's '" + result.name + "' has the impossible shape " +
                 tensorio::describe(result.shape)};
  return result;
}

of_tensor_t borrow(const Tensor &tensor) {
  // The API only reads inputs, but has one struct for both directions.
  return {static_cast<of_dtype>(tensor.dtype),
          static_cast<int32_t>(tensor.shape.size()), tensor.shape.data(),
          const_cast<uint8_t *>(tensor.bytes.data())};
}

} // namespace

Status oneflow::run::takeStatus(of_status_t *status) {
  if (of_status_get_code(status) == OF_STATUS_OK)
    return {};
  std::string message = of_status_get_message(status);
  std::string location = of_status_get_location(status);
  of_status_free(status);
  return Error{location.empty() ? message : location + ": " + message};
}

/// The message for a file that is no plan but what a plan is made from.
static std::string explainModel(const std::string &path,
                                const std::string &message) {
  size_t dot = path.rfind('.');
  std::string ending = dot == std::string::npos ? "" : path.substr(dot);
  if (ending != ".onnx" && ending != ".mlir")
    return message;
  return "'" + path +
         "' is a model, not a plan: compile it first, "
         "oneflow-compile " +
         path + " -o " + path.substr(0, dot) +
         ".ofp (with --train to train it)";
}

Expected<Plan> Plan::load(const std::string &path) {
  of_plan_t *handle = nullptr;
  of_status_t *loaded = of_plan_load(path.c_str(), nullptr, &handle);
  bool isOther = of_status_get_code(loaded) == OF_STATUS_INVALID_PLAN;
  if (Status status = takeStatus(loaded); !status.ok())
    return isOther ? Error{explainModel(path, status.message())}
                   : status.error();
  Plan plan;
  plan.plan.reset(handle, of_plan_free);
  return plan;
}

std::vector<std::string> Plan::entryNames() const {
  std::vector<std::string> names;
  for (int32_t i = 0; i < of_plan_get_entry_count(handle()); ++i)
    names.push_back(of_plan_get_entry_name(handle(), i));
  return names;
}

Expected<Entry> Plan::entry(const std::string &name) const {
  Entry entry;
  entry.name = name;
  entry.index = of_plan_find_entry(handle(), name.c_str());
  if (entry.index < 0) {
    std::string known;
    for (const std::string &other : entryNames())
      known += (known.empty() ? "'" : ", '") + other + "'";
    return Error{"the plan has no entry '" + name + "', it has: " + known +
                 "; choose one with --entry"};
  }
  for (int32_t i = 0; i < of_plan_get_input_count(handle(), entry.index); ++i) {
    of_tensor_info_t info{};
    of_status_t *status = of_plan_get_input(handle(), entry.index, i, &info);
    Expected<TensorInfo> input = toInfo(status, info);
    if (!input.ok())
      return input.error();
    entry.inputs.push_back(std::move(*input));
  }
  for (int32_t i = 0; i < of_plan_get_output_count(handle(), entry.index);
       ++i) {
    of_tensor_info_t info{};
    of_status_t *status = of_plan_get_output(handle(), entry.index, i, &info);
    Expected<TensorInfo> output = toInfo(status, info);
    if (!output.ok())
      return output.error();
    entry.outputs.push_back(std::move(*output));
  }
  return entry;
}

Expected<std::vector<TensorInfo>> Plan::variables() const {
  std::vector<TensorInfo> variables;
  for (int32_t i = 0; i < of_plan_get_variable_count(handle()); ++i) {
    of_tensor_info_t info{};
    of_status_t *status = of_plan_get_variable(handle(), i, &info);
    Expected<TensorInfo> variable = toInfo(status, info);
    if (!variable.ok())
      return variable.error();
    variables.push_back(std::move(*variable));
  }
  return variables;
}

std::string Plan::metadata(const std::string &key) const {
  const char *value = of_plan_get_metadata(handle(), key.c_str());
  return value ? value : "";
}

Expected<Session> Session::create(const Plan &plan,
                                  const std::string &transport,
                                  int32_t threads) {
  of_session_options_t options{};
  options.struct_size = sizeof(options);
  options.transport = transport.c_str();
  options.threads_per_rank = threads;
  of_session_t *handle = nullptr;
  of_status_t *status = of_session_create(plan.handle(), &options, &handle);
  if (Status failed = takeStatus(status); !failed.ok())
    return failed.error();
  Session session;
  session.session.reset(handle);
  return session;
}

Status Session::run(const Entry &entry,
                    const std::vector<const Tensor *> &inputs,
                    std::vector<Tensor> &outputs) {
  std::vector<of_tensor_t> in, out;
  for (const Tensor *tensor : inputs)
    in.push_back(borrow(*tensor));
  for (const Tensor &tensor : outputs)
    out.push_back(borrow(tensor));
  return takeStatus(of_session_run(session.get(), entry.index, in.data(),
                                   static_cast<int32_t>(in.size()), out.data(),
                                   static_cast<int32_t>(out.size())));
}

Expected<Tensor> Session::getVariable(int32_t index, const TensorInfo &info) {
  Tensor value = Tensor::zeros(info.dtype, info.shape);
  of_tensor_t borrowed = borrow(value);
  of_status_t *status =
      of_session_get_variable(session.get(), index, &borrowed);
  if (Status failed = takeStatus(status); !failed.ok())
    return failed.error();
  return value;
}

Status Session::setVariable(int32_t index, const Tensor &value) {
  of_tensor_t borrowed = borrow(value);
  return takeStatus(of_session_set_variable(session.get(), index, &borrowed));
}

std::vector<Tensor> oneflow::run::makeOutputs(const Entry &entry) {
  std::vector<Tensor> outputs;
  for (const TensorInfo &info : entry.outputs)
    outputs.push_back(Tensor::zeros(info.dtype, info.shape));
  return outputs;
}
