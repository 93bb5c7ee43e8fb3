//===- Diagnostics.cpp - messages for model owners ------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Diagnostics.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Pipelines/Diagnostics.h"

#include "oneflow/Interfaces/SourceName.h"

using namespace mlir;

static llvm::StringRef nameOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("covered switch");
}

void oneflow::printDiagnostic(Diagnostic &diagnostic, llvm::StringRef fallback,
                              llvm::raw_ostream &out) {
  std::string where = sourceLocation(diagnostic.getLocation());
  out << (where.empty() ? fallback.str() : where) << ": "
      << nameOf(diagnostic.getSeverity()) << ": " << diagnostic.str() << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    printDiagnostic(note, fallback, out);
}
