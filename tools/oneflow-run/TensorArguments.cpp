//===- oneflow-run/TensorArguments.cpp - tensors on the command line ------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensor files themselves are the TensorIO library's work.
//
//===----------------------------------------------------------------------===//

#include "TensorArguments.h"
#include "oneflow/TensorIO/Npy.h"
#include "oneflow/TensorIO/TensorFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <sys/stat.h>

using namespace oneflow::run;
using namespace oneflow::tensorio;

namespace {

std::string quotedNames(const std::vector<TensorInfo> &infos) {
  std::string names;
  for (const TensorInfo &info : infos)
    names += (names.empty() ? "'" : ", '") + info.name + "'";
  return names.empty() ? "none" : names;
}

/// Index of the tensor of this name, or -1.
int findByName(const std::vector<TensorInfo> &infos, const std::string &name) {
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name)
      return static_cast<int>(i);
  return -1;
}

Status assignNamed(const Entry &entry, const FileArgument &argument,
                   TensorMap &file, TensorMap &chosen) {
  if (findByName(entry.inputs, argument.name) < 0)
    return Error{"entry '" + entry.name + "' has no input '" + argument.name +
                 "', it has: " + quotedNames(entry.inputs)};
  auto found = file.find(argument.name);
  if (found == file.end() && file.size() == 1)
    found = file.begin();
  if (found == file.end())
    return Error{"'" + argument.path + "' has no tensor '" + argument.name +
                 "'"};
  chosen[argument.name] = std::move(found->second);
  return {};
}

Status assignAll(const Entry &entry, const FileArgument &argument,
                 TensorMap &file, TensorMap &chosen) {
  bool any = false;
  for (const TensorInfo &info : entry.inputs) {
    auto found = file.find(info.name);
    if (found == file.end())
      continue;
    chosen[info.name] = std::move(found->second);
    any = true;
  }
  if (any)
    return {};
  if (entry.inputs.empty())
    return Error{"entry '" + entry.name +
                 "' has no inputs, expected no --input, got: '" +
                 argument.path + "'"};
  bool single = file.size() == 1 && entry.inputs.size() == 1;
  if (single && !holdsManyTensors(*fileFormat(argument.path))) {
    chosen[entry.inputs[0].name] = std::move(file.begin()->second);
    return {};
  }
  return Error{"'" + argument.path +
               "' has a tensor for none of the inputs of "
               "entry '" +
               entry.name + "': " + quotedNames(entry.inputs)};
}

std::string fileName(const std::string &tensorName) {
  std::string name = tensorName.empty() ? "output" : tensorName;
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && !std::strchr("._-", c))
      c = '_';
  // Neither hidden nor a way out of the folder.
  if (name[0] == '.')
    name[0] = '_';
  return name;
}

} // namespace

FileArgument oneflow::run::splitFileArgument(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos)
    return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Expected<std::vector<Tensor>>
oneflow::run::readInputs(const Entry &entry,
                         const std::vector<std::string> &arguments) {
  TensorMap chosen;
  for (const std::string &text : arguments) {
    FileArgument argument = splitFileArgument(text);
    Expected<TensorMap> file = readTensors(argument.path);
    if (!file.ok())
      return file.error();
    Status status = argument.name.empty()
                        ? assignAll(entry, argument, *file, chosen)
                        : assignNamed(entry, argument, *file, chosen);
    if (!status.ok())
      return status.error();
  }
  std::vector<Tensor> inputs;
  for (const TensorInfo &info : entry.inputs) {
    auto found = chosen.find(info.name);
    if (found == chosen.end())
      return Error{"no file is given for input '" + info.name + "' (" +
                   describe(info.dtype, info.shape) + ")"};
    inputs.push_back(std::move(found->second));
  }
  return inputs;
}

Status oneflow::run::checkOutputs(const Entry &entry,
                                  const std::vector<std::string> &arguments) {
  for (const std::string &text : arguments) {
    FileArgument argument = splitFileArgument(text);
    Expected<FileFormat> format = fileFormat(argument.path);
    if (!format.ok())
      return format.error();
    if (!argument.name.empty() && findByName(entry.outputs, argument.name) < 0)
      return Error{"entry '" + entry.name + "' has no output '" +
                   argument.name + "', it has: " + quotedNames(entry.outputs)};
    if (argument.name.empty() && !holdsManyTensors(*format) &&
        entry.outputs.size() != 1)
      return Error{"'" + argument.path + "' holds one tensor and entry '" +
                   entry.name + "' has " +
                   std::to_string(entry.outputs.size()) +
                   " outputs: name one as NAME=FILE, or use .npz"};
  }
  return {};
}

Status oneflow::run::writeOutputs(const Entry &entry,
                                  const std::vector<Tensor> &outputs,
                                  const std::vector<std::string> &arguments,
                                  const std::string &folder) {
  TensorMap all;
  for (size_t i = 0; i < outputs.size(); ++i)
    all[entry.outputs[i].name] = outputs[i];
  for (const std::string &text : arguments) {
    FileArgument argument = splitFileArgument(text);
    Status status =
        argument.name.empty()
            ? writeTensors(argument.path, all)
            : writeTensor(argument.path, argument.name, all[argument.name]);
    if (!status.ok())
      return status;
  }
  if (folder.empty())
    return {};
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    return Error{"cannot make the folder '" + folder +
                 "': " + std::strerror(errno)};
  std::set<std::string> taken;
  for (const auto &[name, tensor] : all) {
    std::string file = fileName(name);
    while (!taken.insert(file).second)
      file += "_";
    if (Status status = writeNpy(folder + "/" + file + ".npy", tensor);
        !status.ok())
      return status;
  }
  return {};
}
