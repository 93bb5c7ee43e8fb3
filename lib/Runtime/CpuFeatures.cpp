//===- CpuFeatures.cpp - what this machine can execute --------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuFeatures.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

using namespace oneflow::runtime;

const char *oneflow::runtime::hostArchitecture() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

// The words behind "flags" (x86) or "Features" (Arm) of the first processor.
static std::set<std::string> readHostFeatures() {
  std::set<std::string> features;
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen("/proc/cpuinfo", "re"),
                                              std::fclose);
  if (!file)
    return features;
  char *line = nullptr;
  size_t capacity = 0;
  while (getline(&line, &capacity, file.get()) >= 0) {
    if (std::strncmp(line, "flags", 5) != 0 &&
        std::strncmp(line, "Features", 8) != 0)
      continue;
    char *rest = nullptr;
    strtok_r(line, ":", &rest);
    while (char *word = strtok_r(nullptr, " \t\n", &rest))
      features.insert(word);
    break;
  }
  free(line);
  return features;
}

std::vector<std::string>
oneflow::runtime::missingCpuFeatures(const std::vector<std::string> &features) {
  static const std::set<std::string> host = readHostFeatures();
  std::vector<std::string> missing;
  for (const std::string &feature : features)
    if (!host.count(feature))
      missing.push_back(feature);
  return missing;
}
