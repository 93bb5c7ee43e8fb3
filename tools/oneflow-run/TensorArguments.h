//===- TensorArguments.h - tensors on the command line ----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `--input` and `--output` mean: which file, and which tensor of it,
// stands for which input or output of an entry.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWRUN_TENSORARGUMENTS_H
#define ONEFLOW_TOOLS_ONEFLOWRUN_TENSORARGUMENTS_H

#include "Handles.h"

namespace oneflow::run {

/// `NAME=FILE`, or `FILE` alone with an empty name.
struct FileArgument {
  std::string name;
  std::string path;
};
FileArgument splitFileArgument(const std::string &text);

/// Reads the files of `--input` and picks a tensor for every input of the
/// entry; in the entry's order. `NAME=FILE` gives one input: the file's tensor
/// of that name, or its only one. `FILE` alone gives every input that it has a
/// tensor for; a file of one nameless tensor serves an entry of one input. What
/// a file holds besides is ignored. A later argument wins over an earlier one.
Expected<std::vector<Tensor>>
readInputs(const Entry &entry, const std::vector<std::string> &arguments);

/// Checks the arguments of `--output` against the entry's outputs and the file
/// formats.
Status checkOutputs(const Entry &entry,
                    const std::vector<std::string> &arguments);

/// Writes outputs, in the entry's order, to the files of `--output`, and every
/// one to `folder` as NAME.npy unless that is empty. The folder is made if need
/// be; characters that no file name should hold become '_'.
Status writeOutputs(const Entry &entry, const std::vector<Tensor> &outputs,
                    const std::vector<std::string> &arguments,
                    const std::string &folder);

} // namespace oneflow::run

#endif // ONEFLOW_TOOLS_ONEFLOWRUN_TENSORARGUMENTS_H
