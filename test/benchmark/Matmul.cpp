//===- Matmul.cpp - generated matrix products beside the FMA peak ---------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints as JSON what share of the processor's own peak a 512x512x512 product
// with packed B reaches on one thread, and the speedup of two threads: by
// processor time, which holds on a busy machine too, and by the clock. The peak
// is measured in the same process, by a loop of independent multiply-adds in
// registers, right before and after; best of several runs each.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <thread>

using namespace oneflow::test;

/// Processor time of this thread, so that other programs do not count.
static double seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

static double wallSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The shortest time of one call of `body`, over runs of at least 20 ms.
static double best(double (*clock)(), const std::function<void()> &body,
                   int runs = 12) {
  double shortest = 1e9;
  body();
  for (int run = 0; run < runs; ++run) {
    int calls = 0;
    double begin = clock(), elapsed;
    do {
      body();
      ++calls;
      elapsed = clock() - begin;
    } while (elapsed < 0.02);
    shortest = std::min(shortest, elapsed / calls);
  }
  return shortest;
}

// 16 accumulators of one vector each, in registers for the whole loop.
__attribute__((target("avx512f"), noinline)) static float peak512(long count) {
  typedef float vector __attribute__((vector_size(64)));
  vector sum[16], a, b;
  for (int i = 0; i < 16; ++i)
    sum[i] = vector{} + static_cast<float>(i);
  a = vector{} + 0.9999f;
  b = vector{} + 1e-5f;
  for (long n = 0; n < count; ++n)
    for (int i = 0; i < 16; ++i)
      asm volatile("vfmadd213ps %2, %1, %0" : "+v"(sum[i]) : "v"(a), "v"(b));
  float total = 0;
  for (int i = 0; i < 16; ++i)
    total += sum[i][0];
  return total;
}
__attribute__((target("avx2,fma"), noinline)) static float peak256(long count) {
  typedef float vector __attribute__((vector_size(32)));
  vector sum[12], a, b;
  for (int i = 0; i < 12; ++i)
    sum[i] = vector{} + static_cast<float>(i);
  a = vector{} + 0.9999f;
  b = vector{} + 1e-5f;
  for (long n = 0; n < count; ++n)
    for (int i = 0; i < 12; ++i)
      asm volatile("vfmadd213ps %2, %1, %0" : "+x"(sum[i]) : "x"(a), "x"(b));
  float total = 0;
  for (int i = 0; i < 12; ++i)
    total += sum[i][0];
  return total;
}

static volatile float sink;

static double peak(bool wide) {
  const long count = 100000;
  double time =
      best(seconds, [&] { sink = wide ? peak512(count) : peak256(count); }, 6);
  return (wide ? 2.0 * 16 * 16 : 2.0 * 8 * 12) * count / time;
}

int main(int argc, char **argv) {
  int64_t m = 512, n = 512, k = 512;
  bool packed = true, transposed = false;
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "--plain"))
      packed = false;
    else if (!strcmp(argv[i], "--transposed"))
      packed = false, transposed = true;
    else if (sscanf(argv[i], "%ldx%ldx%ld", &m, &n, &k) != 3) {
      fprintf(stderr, "usage: %s [MxNxK] [--plain | --transposed]\n", argv[0]);
      return 1;
    }
  }
  auto type = [](int64_t rows, int64_t columns) {
    return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) +
           "xf32>";
  };
  std::string a = type(m, k), b = transposed ? type(n, k) : type(k, n),
              c = type(m, n);
  Kernels kernels(
      "func.func @mm(%a: " + a + ", %b: " + b +
      (packed ? " {oneflow.panel = 32 : i64}" : "") + ") -> " + c +
      " attributes {oneflow.kernel} {\n  %z = arith.constant 0.0 : f32\n  %e = "
      "tensor.empty() : " +
      c + "\n  %f = linalg.fill ins(%z : f32) outs(%e : " + c + ") -> " + c +
      "\n  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, "
      "k)>, "
      "affine_map<(i, j, k) -> " +
      (transposed ? "(j, k)" : "(k, j)") +
      ">, affine_map<(i, j, k) -> (i, j)>], iterator_types = [\"parallel\", "
      "\"parallel\", \"reduction\"]} ins(%a, %b : " +
      a + ", " + b + ") outs(%f : " + c +
      ") {\n  ^bb0(%x: f32, %y: f32, %o: f32):\n    %0 = arith.mulf %x, %y : "
      "f32\n    %1 = arith.addf %o, %0 : f32\n    linalg.yield %1 : f32\n  } "
      "-> " +
      c + "\n  return %r : " + c + "\n}");
  Buffer bufferA = Buffer::of(randomF32(m * k)),
         bufferB = Buffer::of(randomF32((n + 31) / 32 * 32 * k)),
         bufferC(m * n * 4);
  void *buffers[] = {bufferA.data(), bufferB.data(), bufferC.data()};
  int64_t items = kernels.items("mm");
  OfKernelFn kernel = kernels.function("mm");
  bool wide = std::find(kernels.features.begin(), kernels.features.end(),
                        "avx512f") != kernels.features.end();
  double before = peak(wide);
  auto all = [&] { kernel(buffers, nullptr, 0, items); };
  double one = best(seconds, all), oneWall = best(wallSeconds, all);

  // Each half's processor time while the other half runs too: what the speedup
  // is on a machine with two cores to spare.
  double halves[2];
  {
    std::atomic<int> ready{0};
    auto half = [&](int which) {
      int64_t begin = items / 2 * which, end = which ? items : items / 2;
      ++ready;
      while (ready < 2)
        std::this_thread::yield();
      halves[which] =
          best(seconds, [&] { kernel(buffers, nullptr, begin, end); });
    };
    std::thread other(half, 1);
    half(0);
    other.join();
  }

  // A second thread that spins for work, as a worker pool in a chain does.
  std::atomic<int> ticket{0}, done{0};
  std::atomic<int64_t> next{0};
  std::atomic<bool> stop{false};
  auto work = [&] {
    for (int64_t item; (item = next.fetch_add(1)) < items;)
      kernel(buffers, nullptr, item, item + 1);
  };
  std::thread worker([&] {
    for (int seen = 0; !stop;) {
      if (ticket.load() == seen) {
        std::this_thread::yield();
        continue;
      }
      seen = ticket.load();
      work();
      done.store(seen);
    }
  });
  double two = best(wallSeconds, [&] {
    next = 0;
    int mine = ++ticket;
    work();
    while (done.load() != mine)
      std::this_thread::yield();
  });
  stop = true;
  worker.join();
  double after = peak(wide), top = std::max(before, after);
  double flops = 2.0 * m * n * k;
  printf("{\"m\": %ld, \"n\": %ld, \"k\": %ld, \"b\": \"%s\", \"items\": %ld, "
         "\"peak_gflops\": %.1f, \"gflops_1\": %.1f, \"share_of_peak\": %.3f, "
         "\"speedup_2\": %.2f, \"speedup_2_wall\": %.2f}\n",
         m, n, k,
         packed       ? "packed"
         : transposed ? "transposed"
                      : "plain",
         items, top / 1e9, flops / one / 1e9, flops / one / top,
         one / std::max(halves[0], halves[1]), oneWall / two);
  return 0;
}
