//===- WritePlan.cpp - a real plan for the real tool ----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the plan of test/Runtime that adds one to a vector of eight, with
// which the tool is run on the real runtime: `WritePlan FILE`.
//
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  std::vector<uint8_t> bytes = oneflow::test::addOnePlan(8).bytes();
  std::ofstream file(argv[1], std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return file.flush() ? 0 : 1;
}
