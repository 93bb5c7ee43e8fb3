//===- oneflow-run/Launch.cpp - where and how a command runs --------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cancelling a session is not among the few things a signal handler may do, so
// the handler writes to a pipe and a thread does it.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <unistd.h>

using namespace oneflow::run;

namespace {

std::atomic<int> caughtSignal{0};
std::atomic<int> wakeDescriptor{-1};

extern "C" void handleInterrupt(int signal) {
  if (caughtSignal.exchange(signal) != 0)
    _exit(128 + signal);
  char byte = 'i';
  int descriptor = wakeDescriptor;
  if (descriptor >= 0)
    (void)!::write(descriptor, &byte, 1);
}

/// Waits for a byte; 'i' cancels the session again and again, since a cancel
/// that comes between two runs has no effect, until 'q' ends the thread.
void watch(int descriptor, of_session_t *session) {
  int timeout = -1;
  while (true) {
    pollfd waited{descriptor, POLLIN, 0};
    int ready = ::poll(&waited, 1, timeout);
    if (ready > 0) {
      char byte = 'q';
      if (::read(descriptor, &byte, 1) == 1 && byte == 'q')
        return;
      timeout = 50;
    }
    if (timeout >= 0)
      of_session_cancel(session);
  }
}

/// The number in an environment variable, or -1.
int32_t environmentNumber(const char *name) {
  const char *text = std::getenv(name);
  return text && *text ? static_cast<int32_t>(std::atoi(text)) : -1;
}

} // namespace

std::vector<Option> oneflow::run::launchOptions() {
  return {
      {"transport", "local|mpi|auto",
       "How ranks talk: threads of this process, one process each\n"
       "under mpirun, or whichever fits how this was started (default)"},
      {"threads", "N",
       "Threads of each rank that share a kernel's work (default:\n"
       "the processors at hand divided by the ranks here)"},
  };
}

int32_t oneflow::run::launcherRank() {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (int32_t rank = environmentNumber(name); rank >= 0)
      return rank;
  return 0;
}

Expected<Launch> oneflow::run::readLaunch(const Arguments &arguments) {
  Launch launch;
  Expected<std::optional<int64_t>> threads = arguments.integer("threads", 0);
  if (!threads.ok())
    return threads.error();
  if (threads->value_or(0) > 65536)
    return Error{"expected at most 65536 for '--threads'"};
  launch.threads = static_cast<int32_t>(threads->value_or(0));

  launch.transport = arguments.get("transport", "auto");
  if (launch.transport == "auto") {
    int32_t processes = std::max(environmentNumber("OMPI_COMM_WORLD_SIZE"),
                                 environmentNumber("PMI_SIZE"));
    launch.transport = processes > 1 ? "mpi" : "local";
  }
  if (launch.transport != "mpi" && launch.transport != "local")
    return Error{"expected local, mpi or auto for '--transport', got: '" +
                 launch.transport + "'"};
  if (launch.transport == "mpi")
    launch.rank = launcherRank();
  return launch;
}

InterruptGuard::InterruptGuard(const Session &session) {
  if (::pipe(pipeEnds) != 0)
    return; // Then a signal ends the process at once, as without a guard.
  watcher = std::thread(watch, pipeEnds[0], session.handle());
  wakeDescriptor = pipeEnds[1];
  struct sigaction action{};
  action.sa_handler = handleInterrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

InterruptGuard::~InterruptGuard() {
  if (pipeEnds[0] < 0)
    return;
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  wakeDescriptor = -1;
  char byte = 'q';
  (void)!::write(pipeEnds[1], &byte, 1);
  watcher.join();
  ::close(pipeEnds[0]);
  ::close(pipeEnds[1]);
}

int oneflow::run::interruptSignal() { return caughtSignal; }

Status oneflow::run::checkInterrupt() {
  if (caughtSignal == 0)
    return {};
  return Error{"interrupted"};
}
