//===- oneflow/Runtime/Runtime.h - the runtime from C++ ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin wrapper over RuntimeC.h: owners for its objects, and exceptions for
// its statuses. Header only, so that no C++ ABI stands between an application
// and the library. Thread rules are those of the C API: plans may be shared, a
// session runs one entry at a time, Session::cancel may come from any thread.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_RUNTIME_H
#define ONEFLOW_RUNTIME_RUNTIME_H

#include "oneflow/Runtime/RuntimeC.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace oneflow {

/// A failed call. what() is the message, without a final full stop.
class Error : public std::runtime_error {
public:
  Error(of_status_code code, const std::string &message, std::string location)
      : std::runtime_error(message), statusCode(code),
        sourceLocation(std::move(location)) {}
  of_status_code code() const { return statusCode; }
  /// Where in the source model; "" when it does not come from there.
  const std::string &location() const { return sourceLocation; }

private:
  of_status_code statusCode;
  std::string sourceLocation;
};

namespace detail {
inline void check(of_status_t *status) {
  if (!status)
    return;
  Error error(of_status_get_code(status), of_status_get_message(status),
              of_status_get_location(status));
  of_status_free(status);
  throw error;
}
} // namespace detail

/// What a plan says of an input, output or variable.
struct TensorInfo {
  std::string name, location;
  of_dtype dtype;
  /// Logical extents.
  std::vector<int64_t> shape;
  bool trainable;

  explicit TensorInfo(const of_tensor_info_t &info)
      : name(info.name), location(info.location), dtype(info.dtype),
        shape(info.shape, info.shape + info.rank),
        trainable(info.trainable != 0) {}
};

/// A loaded plan; may be shared by threads and sessions.
class Plan {
public:
  /// Throws Error.
  explicit Plan(const std::string &path, bool verifyData = false) {
    of_plan_options_t options = {sizeof(options), verifyData};
    of_plan_t *loaded = nullptr;
    detail::check(of_plan_load(path.c_str(), &options, &loaded));
    handle.reset(loaded);
  }

  const of_plan_t *get() const { return handle.get(); }
  int rankCount() const { return of_plan_get_rank_count(get()); }
  int entryCount() const { return of_plan_get_entry_count(get()); }
  std::string entryName(int entry) const {
    const char *name = of_plan_get_entry_name(get(), entry);
    return name ? name : "";
  }
  /// Throws Error when there is none of that name.
  int findEntry(const std::string &name) const {
    int entry = of_plan_find_entry(get(), name.c_str());
    if (entry < 0)
      throw Error(OF_STATUS_NOT_FOUND, "the plan has no entry '" + name + "'",
                  "");
    return entry;
  }
  std::vector<TensorInfo> inputs(int entry) const {
    std::vector<TensorInfo> result;
    for (int i = 0; i < of_plan_get_input_count(get(), entry); ++i) {
      of_tensor_info_t info;
      detail::check(of_plan_get_input(get(), entry, i, &info));
      result.emplace_back(info);
    }
    return result;
  }
  std::vector<TensorInfo> outputs(int entry) const {
    std::vector<TensorInfo> result;
    for (int i = 0; i < of_plan_get_output_count(get(), entry); ++i) {
      of_tensor_info_t info;
      detail::check(of_plan_get_output(get(), entry, i, &info));
      result.emplace_back(info);
    }
    return result;
  }
  std::vector<TensorInfo> variables() const {
    std::vector<TensorInfo> result;
    for (int i = 0; i < of_plan_get_variable_count(get()); ++i) {
      of_tensor_info_t info;
      detail::check(of_plan_get_variable(get(), i, &info));
      result.emplace_back(info);
    }
    return result;
  }

private:
  struct Free {
    void operator()(of_plan_t *plan) const { of_plan_free(plan); }
  };
  std::unique_ptr<of_plan_t, Free> handle;
};

/// A plan that runs.
class Session {
public:
  struct Options {
    /// "local" or "mpi"; see of_session_options_t.
    std::string transport = "local";
    int threadsPerRank = 0;
    /// "": beside the runtime library.
    std::string pluginPath;
  };

  /// Throws Error. The plan may be destroyed before the session.
  explicit Session(const Plan &plan) : Session(plan, Options()) {}
  Session(const Plan &plan, const Options &options) {
    of_session_options_t raw = {};
    raw.struct_size = sizeof(raw);
    raw.transport = options.transport.c_str();
    raw.threads_per_rank = options.threadsPerRank;
    raw.plugin_path =
        options.pluginPath.empty() ? nullptr : options.pluginPath.c_str();
    of_session_t *created = nullptr;
    detail::check(of_session_create(plan.get(), &raw, &created));
    handle.reset(created);
  }

  of_session_t *get() const { return handle.get(); }
  int rank() const { return of_session_get_rank(get()); }

  /// Runs an entry once; see of_session_run. Throws Error.
  void run(int entry, const std::vector<of_tensor_t> &inputs,
           const std::vector<of_tensor_t> &outputs) {
    detail::check(of_session_run(
        get(), entry, inputs.data(), static_cast<int32_t>(inputs.size()),
        outputs.data(), static_cast<int32_t>(outputs.size())));
  }
  void cancel() { of_session_cancel(get()); }
  void getVariable(int index, const of_tensor_t &value) {
    detail::check(of_session_get_variable(get(), index, &value));
  }
  void setVariable(int index, const of_tensor_t &value) {
    detail::check(of_session_set_variable(get(), index, &value));
  }
  void startTrace(size_t capacity) {
    detail::check(of_session_start_trace(get(), capacity));
  }
  void writeTrace(const std::string &path) {
    detail::check(of_session_write_trace(get(), path.c_str()));
  }
  of_counters_t counters() const {
    of_counters_t result = {};
    result.struct_size = sizeof(result);
    of_session_get_counters(get(), &result);
    return result;
  }

private:
  struct Free {
    void operator()(of_session_t *session) const { of_session_free(session); }
  };
  std::unique_ptr<of_session_t, Free> handle;
};

} // namespace oneflow

#endif // ONEFLOW_RUNTIME_RUNTIME_H
