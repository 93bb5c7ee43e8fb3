//===- Trace.cpp - what ran when ------------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trace.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>
#include <unistd.h>

using namespace oneflow::runtime;

// Kernel events of one buffer; bounds its memory to some tens of megabytes.
static constexpr size_t kMaxKernelEvents = size_t(1) << 20;

uint64_t oneflow::runtime::nowNs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

void TraceBuffer::start(size_t actions, size_t kernelsPerAction) {
  size_t kernels = std::min(kMaxKernelEvents, actions * kernelsPerAction);
  list.clear();
  list.reserve(actions + kernels);
  actionsLeft = actions;
  recording = true;
}

void TraceBuffer::action(const char *name, uint64_t begin, uint64_t end,
                         const ActionDetails &details) {
  if (actionsLeft == 0 || list.size() == list.capacity())
    return;
  --actionsLeft;
  list.push_back({name, begin, end, false, details});
}

void TraceBuffer::kernel(const char *name, uint64_t begin, uint64_t end) {
  // The last places belong to actions.
  if (actionsLeft > 0 && list.capacity() - list.size() > actionsLeft)
    list.push_back({name, begin, end, true, {}});
}

static std::string quoted(const char *text) {
  std::string result = "\"";
  for (const char *at = text; *at; ++at) {
    auto c = static_cast<unsigned char>(*at);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += *at;
    } else if (c < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", c);
      result += escape;
    } else {
      result += *at;
    }
  }
  return result + '"';
}

static std::string argumentsOf(const ActionDetails &details) {
  std::string result;
  auto append = [&](const char *name, const std::string &value) {
    result += concat(result.empty() ? "" : ",", "\"", name, "\":", value);
  };
  if (const Traffic *traffic = details.traffic) {
    append("bytes", std::to_string(traffic->bytes));
    append("staging_bytes", std::to_string(traffic->stagingBytes));
    append("buffer_bytes", std::to_string(traffic->bufferBytes));
  }
  if (details.phase)
    append("phase", quoted(details.phase));
  if (details.microBatch >= 0)
    append("micro_batch", std::to_string(details.microBatch));
  return result;
}

static void writeRow(FILE *file, const TraceRow &row, uint64_t origin,
                     const char *&separator) {
  std::fprintf(file,
               "%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%u,"
               "\"args\":{\"name\":%s}}",
               separator, row.rank, row.stream, quoted(row.streamName).c_str());
  separator = ",\n";
  for (const TraceBuffer::Event &event : row.buffer->events()) {
    // Microseconds with three decimals: nanoseconds are kept.
    std::fprintf(
        file,
        "%s{\"ph\":\"X\",\"name\":%s,\"cat\":\"%s\",\"pid\":%d,"
        "\"tid\":%u,\"ts\":%llu.%03u,\"dur\":%llu.%03u",
        separator, quoted(event.name).c_str(),
        event.kernel ? "kernel" : "action", row.rank, row.stream,
        static_cast<unsigned long long>((event.begin - origin) / 1000),
        static_cast<unsigned>((event.begin - origin) % 1000),
        static_cast<unsigned long long>((event.end - event.begin) / 1000),
        static_cast<unsigned>((event.end - event.begin) % 1000));
    std::string arguments = argumentsOf(event.details);
    if (!arguments.empty())
      std::fprintf(file, ",\"args\":{%s}", arguments.c_str());
    std::fputc('}', file);
  }
}

Status oneflow::runtime::writeChromeTrace(const std::vector<TraceRow> &rows,
                                          const char *path) {
  std::string beside = concat(path, ".", getpid(), ".part");
  FILE *file = std::fopen(beside.c_str(), "we");
  if (!file)
    return Status(OF_STATUS_IO, concat("cannot create '", beside,
                                       "': ", std::strerror(errno)));
  uint64_t origin = UINT64_MAX;
  std::set<int> ranks;
  for (const TraceRow &row : rows) {
    ranks.insert(row.rank);
    for (const TraceBuffer::Event &event : row.buffer->events())
      origin = std::min(origin, event.begin);
  }
  std::fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", file);
  const char *separator = "";
  for (int rank : ranks) {
    std::fprintf(file,
                 "%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,"
                 "\"args\":{\"name\":\"rank %d\"}}",
                 separator, rank, rank);
    separator = ",\n";
  }
  for (const TraceRow &row : rows)
    writeRow(file, row, origin, separator);
  std::fputs("\n]}\n", file);
  bool written = !std::ferror(file);
  written &= std::fclose(file) == 0;
  if (!written || std::rename(beside.c_str(), path) != 0) {
    Status status(OF_STATUS_IO,
                  concat("cannot write '", path, "': ", std::strerror(errno)));
    std::remove(beside.c_str());
    return status;
  }
  return Status();
}
