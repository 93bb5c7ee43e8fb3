//===- oneflow/Target/Cpu.h - native code for CPUs --------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From llvm-dialect functions to a position-independent ELF that the runtime
// can map without a dynamic linker: no undefined symbols, relative relocations
// only. The way there: createLowerKernelsPass
// (oneflow/Conversion/KernelToCpu.h), then emitCpuObject.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TARGET_CPU_H
#define ONEFLOW_TARGET_CPU_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
class ModuleOp;
} // namespace mlir

namespace oneflow {

/// The processor to generate code for.
struct CpuTarget {
  /// As LLVM names it, e.g. "sapphirerapids".
  std::string cpu;
  /// LLVM's names, each with '+' or '-' before it.
  std::vector<std::string> features;

  /// The processor that this program runs on.
  static CpuTarget host();
  /// x86-64-v3: AVX2, FMA, BMI, F16C; runs on almost any server.
  static CpuTarget generic();

  bool has(llvm::StringRef feature) const;
  /// Bytes of a vector register, and how many there are.
  unsigned vectorBytes() const;
  unsigned vectorRegisters() const;
};

/// A linked object.
struct CpuObject {
  /// An ELF shared object.
  llvm::SmallVector<char, 0> elf;
  /// What the code needs, as /proc/cpuinfo spells it ("avx512f", "abm").
  std::vector<std::string> cpuFeatures;
};

/// Lets a context translate the llvm dialect. Call it before emitCpuObject.
void registerCpuTranslation(mlir::DialectRegistry &registry);

/// Compiles all llvm-dialect functions and globals of `module` (other ops are
/// passed over) and exports those named in `exports`. `module` is not changed.
/// Reports at the module and fails if the code is invalid, or refers to a
/// function that neither it nor our math library defines. Thread-safe for
/// different contexts; linking itself is serialised.
llvm::FailureOr<CpuObject> emitCpuObject(mlir::ModuleOp module,
                                         const CpuTarget &target,
                                         llvm::ArrayRef<std::string> exports);

} // namespace oneflow

#endif // ONEFLOW_TARGET_CPU_H
