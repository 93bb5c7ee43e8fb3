//===- TransportMain.cpp - chooses the transport under test ---------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TransportTests [NAME FOLDER RANKS]: tests the plug-in NAME in FOLDER, with a
// launcher that started RANKS processes; without arguments, the local
// transport.
//
//===----------------------------------------------------------------------===//

#include "RankHarness.h"
#include "Transport/Local.h"
#include "Transport/Plugin.h"

#include <cstdio>
#include <cstdlib>

using namespace oneflow::runtime;

static std::unique_ptr<Transport> transport;

Transport &oneflow::test::transportUnderTest() { return *transport; }

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 4) {
    if (Status status = createPluginTransport(argv[1], argv[2],
                                              std::atoi(argv[3]), transport)) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      return 1;
    }
  } else {
    transport = createLocalTransport(5, 0);
  }
  int result = RUN_ALL_TESTS();
  transport.reset();
  return result;
}
