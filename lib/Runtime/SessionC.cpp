//===- SessionC.cpp - C API: sessions -------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApi.h"
#include "Session.h"

#include <algorithm>
#include <cstring>

using namespace oneflow::runtime;

struct of_session_t {
  std::unique_ptr<Session> session;
};

static Status noSession() {
  return invalidArgument("the session must not be null");
}

of_status_t *of_session_create(const of_plan_t *plan,
                               const of_session_options_t *options,
                               of_session_t **session) {
  return guarded([&]() -> Status {
    if (!plan || !session)
      return invalidArgument(
          "of_session_create: plan and session must not be null");
    *session = nullptr;
    // A caller of an older version passes a shorter struct; the rest stays 0.
    of_session_options_t known = {};
    if (options)
      std::memcpy(&known, options,
                  std::min(options->struct_size, sizeof(known)));
    if (known.threads_per_rank < 0)
      return invalidArgument("expected 0 or more threads per rank, got: ",
                             known.threads_per_rank);
    SessionOptions wanted;
    if (known.transport)
      wanted.transport = known.transport;
    wanted.threadsPerRank = known.threads_per_rank;
    wanted.pluginPath = known.plugin_path;
    auto result = std::make_unique<of_session_t>();
    if (Status status = Session::create(plan->loaded, wanted, result->session))
      return status;
    *session = result.release();
    return Status();
  });
}

void of_session_free(of_session_t *session) { delete session; }

int32_t of_session_get_rank(const of_session_t *session) {
  return session ? session->session->rank() : 0;
}

of_status_t *of_session_run(of_session_t *session, int32_t entry,
                            const of_tensor_t *inputs, int32_t input_count,
                            const of_tensor_t *outputs, int32_t output_count) {
  return guarded([&]() -> Status {
    if (!session)
      return noSession();
    return session->session->run(entry, inputs, input_count, outputs,
                                 output_count);
  });
}

void of_session_cancel(of_session_t *session) {
  if (session)
    session->session->cancel();
}

of_status_t *of_session_get_variable(of_session_t *session, int32_t index,
                                     const of_tensor_t *value) {
  return guarded([&]() -> Status {
    if (!session || !value)
      return noSession();
    return session->session->getVariable(index, *value);
  });
}

of_status_t *of_session_set_variable(of_session_t *session, int32_t index,
                                     const of_tensor_t *value) {
  return guarded([&]() -> Status {
    if (!session || !value)
      return noSession();
    return session->session->setVariable(index, *value);
  });
}

of_status_t *of_session_start_trace(of_session_t *session, size_t capacity) {
  return guarded([&]() -> Status {
    if (!session)
      return noSession();
    return session->session->startTrace(capacity);
  });
}

of_status_t *of_session_write_trace(of_session_t *session, const char *path) {
  return guarded([&]() -> Status {
    if (!session || !path)
      return invalidArgument("session and path must not be null");
    return session->session->writeTrace(path);
  });
}

void of_session_get_counters(const of_session_t *session,
                             of_counters_t *counters) {
  if (!counters)
    return;
  of_counters_t all = {};
  all.struct_size = counters->struct_size;
  if (session)
    session->session->readCounters(all);
  std::memcpy(counters, &all, std::min(counters->struct_size, sizeof(all)));
}
