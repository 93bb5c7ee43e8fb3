//===- Api.h - the C API as tests use it ------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_RUNTIME_API_H
#define ONEFLOW_TEST_RUNTIME_API_H

#include "PlanBuilder.h"

#include "oneflow/Runtime/RuntimeC.h"

#include <string>
#include <vector>

namespace oneflow::test {

/// A status taken apart and freed.
struct Outcome {
  of_status_code code;
  std::string message, location;

  Outcome(of_status_t *status)
      : code(of_status_get_code(status)),
        message(of_status_get_message(status)),
        location(of_status_get_location(status)) {
    of_status_free(status);
  }
};

/// A float tensor with storage.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values;

  Tensor(std::vector<int64_t> shape, std::vector<float> values)
      : shape(std::move(shape)), values(std::move(values)) {}
  explicit Tensor(std::vector<int64_t> wanted) : shape(std::move(wanted)) {
    size_t count = 1;
    for (int64_t extent : shape)
      count *= static_cast<size_t>(extent);
    values.assign(count, -7.0f);
  }
  of_tensor_t view() {
    return {OF_DTYPE_F32, static_cast<int32_t>(shape.size()), shape.data(),
            values.data()};
  }
};

/// A plan loaded from a builder, with the message of what went wrong.
class LoadedTestPlan {
public:
  explicit LoadedTestPlan(const PlanBuilder &builder)
      : LoadedTestPlan(builder.bytes()) {}
  explicit LoadedTestPlan(const std::vector<uint8_t> &bytes) {
    file.write(bytes);
    Outcome outcome = of_plan_load(file.c_str(), nullptr, &plan);
    code = outcome.code;
    message = outcome.message;
  }
  ~LoadedTestPlan() { of_plan_free(plan); }
  LoadedTestPlan(const LoadedTestPlan &) = delete;

  of_plan_t *plan = nullptr;
  of_status_code code;
  std::string message;

private:
  TemporaryFile file;
};

class TestSession {
public:
  explicit TestSession(const LoadedTestPlan &plan, int threads = 1) {
    of_session_options_t options = {};
    options.struct_size = sizeof(options);
    options.threads_per_rank = threads;
    Outcome outcome = of_session_create(plan.plan, &options, &session);
    code = outcome.code;
    message = outcome.message;
  }
  ~TestSession() { of_session_free(session); }
  TestSession(const TestSession &) = delete;

  Outcome run(std::vector<Tensor *> inputs, std::vector<Tensor *> outputs,
              int32_t entry = 0) {
    std::vector<of_tensor_t> in, out;
    for (Tensor *tensor : inputs)
      in.push_back(tensor->view());
    for (Tensor *tensor : outputs)
      out.push_back(tensor->view());
    return of_session_run(session, entry, in.data(),
                          static_cast<int32_t>(in.size()), out.data(),
                          static_cast<int32_t>(out.size()));
  }

  of_session_t *session = nullptr;
  of_status_code code;
  std::string message;
};

} // namespace oneflow::test

#endif // ONEFLOW_TEST_RUNTIME_API_H
