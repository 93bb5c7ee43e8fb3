//===- Gate.h - waiting for another thread ----------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waits for a condition over atomics: first by polling for a short, bounded
// time, since hand-overs between running threads take less than a system call,
// then asleep. Where there are more threads than processors, a poll gives the
// processor away, so that the thread that is waited for can have it.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_GATE_H
#define ONEFLOW_RUNTIME_GATE_H

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace oneflow::runtime {

inline void pauseBriefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// How long to poll before sleeping.
struct Patience {
  Patience(int polls = 0, bool yields = false) : polls(polls), yields(yields) {}

  int polls;
  /// Whether a poll gives the processor to another thread.
  bool yields;
};

/// With a processor for each thread; tens of microseconds.
inline const Patience kSpinning(2000);
/// With fewer: waking a sleeper takes longer than passing the processor on, so
/// that this pays until a few hundred others had their turn.
inline const Patience kYielding(200, /*yields=*/true);

/// Polls for at most that long and returns whether `condition()` holds.
template <typename Condition>
bool pollFor(Condition condition, const Patience &patience) {
  for (int i = 0; i < patience.polls; ++i) {
    if (condition())
      return true;
    if (patience.yields)
      std::this_thread::yield();
    else
      pauseBriefly();
  }
  return condition();
}

class Gate {
public:
  /// Returns when `condition()`, which reads atomics only, holds.
  template <typename Condition>
  void wait(Condition condition, const Patience &patience) {
    if (pollFor(condition, patience))
      return;
    std::unique_lock<std::mutex> lock(mutex);
    waiters.fetch_add(1);
    // Sequentially consistent: either this thread sees the changed condition
    // here, or notify() sees the waiter.
    changed.wait(lock, condition);
    waiters.fetch_sub(1);
  }

  /// To be called after a (sequentially consistent) store that may make a
  /// waiter's condition true.
  void notify() {
    if (waiters.load() == 0)
      return;
    // A waiter between its test and its sleep holds the mutex.
    {
      std::lock_guard<std::mutex> lock(mutex);
    }
    changed.notify_all();
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<int> waiters{0};
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_GATE_H
