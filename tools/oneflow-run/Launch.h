//===- oneflow-run/Launch.h - where and how a command runs ------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all commands that run a plan share: the options that choose transport
// and threads, this process's rank, and the way an interrupt ends a run.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWRUN_LAUNCH_H
#define ONEFLOW_TOOLS_ONEFLOWRUN_LAUNCH_H

#include "Arguments.h"
#include "Handles.h"

#include <thread>

namespace oneflow::run {

/// How this process takes part in the run.
struct Launch {
  std::string transport = "local";
  int32_t threads = 0;
  /// As the launcher says, before there is a session; 0 without a launcher.
  int32_t rank = 0;

  /// Only rank 0 prints and writes files.
  bool isLeader() const { return rank == 0; }
};

/// The options that readLaunch reads, to be listed by commands.
std::vector<Option> launchOptions();

/// This process's rank as MPI launchers tell it in the environment; 0 without.
int32_t launcherRank();

/// "auto" becomes "mpi" when an MPI launcher started more than one process.
Expected<Launch> readLaunch(const Arguments &arguments);

/// Turns the first SIGINT or SIGTERM of its lifetime into cancelling the
/// session, so that the run returns and everything is freed in order; a second
/// one ends the process at once. At most one may live at a time.
class InterruptGuard {
public:
  /// The session must outlive the guard.
  explicit InterruptGuard(const Session &session);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard &) = delete;
  InterruptGuard &operator=(const InterruptGuard &) = delete;

private:
  int pipeEnds[2] = {-1, -1};
  std::thread watcher;
};

/// The signal that interrupted this process, or 0.
int interruptSignal();

/// An error once interrupted, to leave loops by.
Status checkInterrupt();

} // namespace oneflow::run

#endif // ONEFLOW_TOOLS_ONEFLOWRUN_LAUNCH_H
