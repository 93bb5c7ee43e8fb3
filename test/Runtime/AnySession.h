//===- AnySession.h - sessions on the transport under test ------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the local transport or, under a launcher, on the plug-in that
// ONEFLOW_TEST_TRANSPORT and ONEFLOW_TEST_PLUGINS name. Then every process must
// see the same results.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_RUNTIME_ANYSESSION_H
#define ONEFLOW_TEST_RUNTIME_ANYSESSION_H

#include "Api.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace oneflow::test {

class AnySession {
public:
  explicit AnySession(const LoadedTestPlan &plan) {
    of_session_options_t options = {};
    options.struct_size = sizeof(options);
    options.transport = std::getenv("ONEFLOW_TEST_TRANSPORT");
    options.plugin_path = std::getenv("ONEFLOW_TEST_PLUGINS");
    options.threads_per_rank = 1;
    Outcome outcome = of_session_create(plan.plan, &options, &session);
    EXPECT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
  }
  ~AnySession() { of_session_free(session); }
  AnySession(const AnySession &) = delete;

  /// Whether the plan's ranks are spread over processes.
  static bool isDistributed() {
    return std::getenv("ONEFLOW_TEST_TRANSPORT") != nullptr;
  }

  Outcome run(Tensor &x, Tensor &y) { return run({&x}, {&y}); }
  Outcome run(std::vector<Tensor *> inputs, std::vector<Tensor *> outputs) {
    std::vector<of_tensor_t> in, out;
    for (Tensor *tensor : inputs)
      in.push_back(tensor->view());
    for (Tensor *tensor : outputs)
      out.push_back(tensor->view());
    return of_session_run(session, 0, in.data(),
                          static_cast<int32_t>(in.size()), out.data(),
                          static_cast<int32_t>(out.size()));
  }
  of_session_t *session = nullptr;
};

} // namespace oneflow::test

#endif // ONEFLOW_TEST_RUNTIME_ANYSESSION_H
