//===- Target.cpp - processors and their features -------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "oneflow/Target/Cpu.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>

namespace oneflow {

CpuTarget CpuTarget::host() {
  CpuTarget target;
  target.cpu = llvm::sys::getHostCPUName().str();
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    target.features.push_back((feature.getValue() ? "+" : "-") +
                              feature.getKey().str());
  std::sort(target.features.begin(), target.features.end());
  return target;
}

CpuTarget CpuTarget::generic() {
  return {
      "x86-64-v3",
      {"+avx", "+avx2", "+bmi", "+bmi2", "+f16c", "+fma", "+lzcnt", "+movbe"}};
}

bool CpuTarget::has(llvm::StringRef feature) const {
  return std::find(features.begin(), features.end(), "+" + feature.str()) !=
         features.end();
}

unsigned CpuTarget::vectorBytes() const {
  return has("avx512f") ? 64 : has("avx") ? 32 : 16;
}

unsigned CpuTarget::vectorRegisters() const { return has("avx512f") ? 32 : 16; }

} // namespace oneflow
