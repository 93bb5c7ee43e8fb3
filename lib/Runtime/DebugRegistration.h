//===- DebugRegistration.h - names for debuggers and profilers --*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code that no dynamic linker loaded has no names in gdb and perf unless told.
// gdb: its JIT interface (GDB manual, "JIT Compilation Interface"). perf: a
// line per function in /tmp/perf-PID.map, written only if ONEFLOW_PERF_MAP=1,
// since it is a file outside the caller's control.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_DEBUGREGISTRATION_H
#define ONEFLOW_RUNTIME_DEBUGREGISTRATION_H

#include <cstdint>
#include <memory>
#include <vector>

namespace oneflow::runtime {

/// A function for perf.
struct CodeSymbol {
  const char *name;
  uint64_t address, bytes;
};

/// Keeps an image known to gdb as long as it lives. Best effort: never fails.
class DebugRegistration {
public:
  /// `file` is a valid ELF shared object that was loaded at `base`; copied.
  DebugRegistration(const uint8_t *file, uint64_t bytes, uint64_t base);
  ~DebugRegistration();

private:
  struct Entry;
  std::vector<uint8_t> copy;
  std::unique_ptr<Entry> entry;
};

/// Appends `symbols` to perf's map if the environment asks for it.
void writePerfMap(const std::vector<CodeSymbol> &symbols);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_DEBUGREGISTRATION_H
