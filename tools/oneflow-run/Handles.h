//===- oneflow-run/Handles.h - the C API as objects -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans and sessions of the runtime's C API as objects that free themselves,
// with tensors and errors in the tool's own types.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWRUN_HANDLES_H
#define ONEFLOW_TOOLS_ONEFLOWRUN_HANDLES_H

#include "oneflow/Runtime/RuntimeC.h"
#include "oneflow/TensorIO/Status.h"
#include "oneflow/TensorIO/Tensor.h"

#include <memory>

namespace oneflow::run {

using tensorio::Error;
using tensorio::Expected;
using tensorio::Status;
using tensorio::Tensor;
using tensorio::TensorMap;

/// What a plan says of an input, output or variable.
struct TensorInfo {
  std::string name;
  tensorio::DType dtype;
  tensorio::Shape shape;
  bool trainable = false;
};

struct Entry {
  int32_t index = -1;
  std::string name;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
};

/// A loaded plan; copies share it.
class Plan {
public:
  static Expected<Plan> load(const std::string &path);

  const of_plan_t *handle() const { return plan.get(); }
  std::vector<std::string> entryNames() const;
  /// Asks for an entry by name; the error lists those that there are.
  Expected<Entry> entry(const std::string &name) const;
  /// In the plan's order, so that an element's place is the variable's index.
  Expected<std::vector<TensorInfo>> variables() const;
  /// Empty when the plan has no such key.
  std::string metadata(const std::string &key) const;

private:
  std::shared_ptr<of_plan_t> plan;
};

/// Folds a status of the C API into ours, its location in front, and frees it.
Status takeStatus(of_status_t *status);

class Session {
public:
  /// `transport`: "local" or "mpi". `threads` per rank, 0 for a sensible
  /// number.
  static Expected<Session>
  create(const Plan &plan, const std::string &transport, int32_t threads);

  of_session_t *handle() const { return session.get(); }
  int32_t rank() const { return of_session_get_rank(session.get()); }

  /// Runs the entry once; `inputs` in the plan's order, `outputs` from
  /// makeOutputs.
  Status run(const Entry &entry, const std::vector<const Tensor *> &inputs,
             std::vector<Tensor> &outputs);
  Expected<Tensor> getVariable(int32_t index, const TensorInfo &info);
  Status setVariable(int32_t index, const Tensor &value);

private:
  struct Free {
    void operator()(of_session_t *session) const { of_session_free(session); }
  };
  std::unique_ptr<of_session_t, Free> session;
};

/// Tensors for the entry's outputs, zeroed.
std::vector<Tensor> makeOutputs(const Entry &entry);

} // namespace oneflow::run

#endif // ONEFLOW_TOOLS_ONEFLOWRUN_HANDLES_H
