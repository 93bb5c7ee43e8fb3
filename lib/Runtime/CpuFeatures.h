//===- CpuFeatures.h - what this machine can execute ------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether the CPU has the features that a plan's code was compiled for, so that
// a plan from another machine ends in a message and not in an illegal
// instruction.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_CPUFEATURES_H
#define ONEFLOW_RUNTIME_CPUFEATURES_H

#include <string>
#include <vector>

namespace oneflow::runtime {

/// "x86_64" or whatever this library was compiled for.
const char *hostArchitecture();

/// Those of `features`, spelled as in /proc/cpuinfo, that this CPU lacks.
std::vector<std::string>
missingCpuFeatures(const std::vector<std::string> &features);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_CPUFEATURES_H
