//===- oneflow-run/Weights.cpp - variables in and out of files ------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rank reads the same file and sets the same values; each takes its part.
//
//===----------------------------------------------------------------------===//

#include "Weights.h"
#include "oneflow/TensorIO/Onnx.h"
#include "oneflow/TensorIO/TensorFile.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

using namespace oneflow::run;
using namespace oneflow::tensorio;

Status oneflow::run::loadWeights(Session &session, const Plan &plan,
                                 const std::string &path, Console &console) {
  Expected<TensorMap> file = readTensors(path);
  if (!file.ok())
    return file.error();
  Expected<std::vector<TensorInfo>> variables = plan.variables();
  if (!variables.ok())
    return variables.error();
  // All is compared before anything is set.
  for (const auto &[name, tensor] : *file) {
    auto found = std::find_if(
        variables->begin(), variables->end(),
        [&name = name](const TensorInfo &info) { return info.name == name; });
    if (found == variables->end())
      return Error{"'" + path + "' holds '" + name +
                   "', which is no variable of the plan"};
    if (found->dtype != tensor.dtype || found->shape != tensor.shape)
      return Error{"variable '" + name + "' expects " +
                   describe(found->dtype, found->shape) + ", got in '" + path +
                   "': " + describe(tensor.dtype, tensor.shape)};
  }
  std::string missing;
  for (size_t i = 0; i < variables->size(); ++i) {
    const TensorInfo &info = (*variables)[i];
    auto found = file->find(info.name);
    if (found == file->end()) {
      if (info.trainable)
        missing += (missing.empty() ? "'" : ", '") + info.name + "'";
      continue;
    }
    if (Status status =
            session.setVariable(static_cast<int32_t>(i), found->second);
        !status.ok())
      return status;
  }
  if (!missing.empty())
    console.warn("'" + path + "' lacks " + missing +
                 "; the plan's initial values are kept");
  return {};
}

Status oneflow::run::setScalar(Session &session, const Plan &plan,
                               const std::string &name, double value) {
  int32_t index = of_plan_find_variable(plan.handle(), name.c_str());
  if (index < 0)
    return Error{"the plan has no variable '" + name + "'"};
  Expected<std::vector<TensorInfo>> variables = plan.variables();
  if (!variables.ok())
    return variables.error();
  const TensorInfo &info = (*variables)[static_cast<size_t>(index)];
  Tensor tensor = Tensor::zeros(info.dtype, info.shape);
  if (tensor.elementCount() != 1 ||
      (info.dtype != DType::F32 && info.dtype != DType::F64))
    return Error{"variable '" + name +
                 "' expects one element of f32 or f64, got: " +
                 describe(info.dtype, info.shape)};
  float narrow = static_cast<float>(value);
  if (info.dtype == DType::F32)
    std::memcpy(tensor.bytes.data(), &narrow, sizeof(narrow));
  else
    std::memcpy(tensor.bytes.data(), &value, sizeof(value));
  return session.setVariable(index, tensor);
}

static Expected<Bytes> sourceModel(const Plan &plan) {
  size_t bytes = 0;
  const auto *data = static_cast<const uint8_t *>(
      of_plan_get_source_model(plan.handle(), &bytes));
  if (!data || bytes == 0)
    return Error{"the plan holds no source model to write weights into"};
  return Bytes(data, data + bytes);
}

/// The names of the source model's tensors; none where there is no model.
static std::vector<std::string> modelTensors(const Plan &plan) {
  Expected<Bytes> model = sourceModel(plan);
  if (!model.ok())
    return {};
  Expected<std::vector<std::string>> names = listModelTensors(*model);
  return names.ok() ? *names : std::vector<std::string>();
}

/// Whether it is the model's, floats and not trainable: training changes it all
/// the same.
static bool isRunningStatistic(const TensorInfo &info,
                               const std::vector<std::string> &model) {
  bool isFloat = info.dtype == DType::F16 || info.dtype == DType::BF16 ||
                 info.dtype == DType::F32 || info.dtype == DType::F64;
  return isFloat && !info.trainable &&
         std::find(model.begin(), model.end(), info.name) != model.end();
}

Expected<TensorMap> oneflow::run::collectVariables(Session &session,
                                                   const Plan &plan, bool all) {
  Expected<std::vector<TensorInfo>> variables = plan.variables();
  if (!variables.ok())
    return variables.error();
  std::vector<std::string> model = modelTensors(plan);
  TensorMap values;
  for (size_t i = 0; i < variables->size(); ++i) {
    const TensorInfo &info = (*variables)[i];
    if (!all && !info.trainable && !isRunningStatistic(info, model))
      continue;
    Expected<Tensor> value = session.getVariable(static_cast<int32_t>(i), info);
    if (!value.ok())
      return value.error();
    values.emplace(info.name, std::move(*value));
  }
  return values;
}

Status oneflow::run::checkSourceModel(const Plan &plan) {
  Expected<Bytes> model = sourceModel(plan);
  if (!model.ok())
    return model.error();
  Expected<std::vector<std::string>> names = listModelTensors(*model);
  if (!names.ok())
    return names.error();
  Expected<std::vector<TensorInfo>> variables = plan.variables();
  if (!variables.ok())
    return variables.error();
  for (const TensorInfo &info : *variables)
    if (info.trainable &&
        std::find(names->begin(), names->end(), info.name) == names->end())
      return Error{"the plan's source model has no tensor for variable '" +
                   info.name + "'"};
  return {};
}

Expected<Bytes> oneflow::run::trainedModel(const Plan &plan,
                                           const TensorMap &variables) {
  Expected<Bytes> model = sourceModel(plan);
  if (!model.ok())
    return model.error();
  Expected<std::vector<std::string>> names = listModelTensors(*model);
  if (!names.ok())
    return names.error();
  TensorMap weights;
  for (const std::string &name : *names) {
    auto found = variables.find(name);
    if (found != variables.end())
      weights.insert(*found);
  }
  return writeTrainedModel(*model, weights);
}

Status oneflow::run::checkWritable(const std::string &path) {
  if (path.empty())
    return {};
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "."
                       : slash == 0               ? "/"
                                                  : path.substr(0, slash);
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return Error{"cannot write '" + path + "': " + std::strerror(errno)};
  return {};
}
