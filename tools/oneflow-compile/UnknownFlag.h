//===- oneflow-compile/UnknownFlag.h - flags that there are not -*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's parser takes the value of an unknown flag for a file, and offers the
// nearest of all flags of LLVM; one line with the nearest of our own is
// clearer.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWCOMPILE_UNKNOWNFLAG_H
#define ONEFLOW_TOOLS_ONEFLOWCOMPILE_UNKNOWNFLAG_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"

#include <optional>
#include <string>

namespace oneflow {

/// What is wrong with the first flag of `words` (the command line behind the
/// program's name) that no option is called, with the flag of `category` that
/// is meant by its name or by what other tools call it; nullopt where all flags
/// are known.
std::optional<std::string>
findUnknownFlag(llvm::ArrayRef<const char *> words,
                const llvm::cl::OptionCategory &category);

} // namespace oneflow

#endif // ONEFLOW_TOOLS_ONEFLOWCOMPILE_UNKNOWNFLAG_H
