//===- PlanFile.h - the container on disk -----------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps a plan file and finds its sections, trusting nothing: after open()
// succeeds, every section lies inside the file and the checked ones are intact.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_PLANFILE_H
#define ONEFLOW_RUNTIME_PLANFILE_H

#include "Memory.h"

#include <cstdint>

namespace oneflow::runtime {

/// A section inside the mapping; null data when the file has none.
struct Section {
  const uint8_t *data = nullptr;
  uint64_t bytes = 0;
};

/// A mapped plan file. Sections live as long as it does.
class PlanFile {
public:
  /// Verifies header, section table, and the checksums of the graph and the
  /// code; those of the other sections too if `verifyData`.
  Status open(const char *path, bool verifyData);

  const Section &graph() const { return graphSection; }
  const Section &code() const { return codeSection; }
  const Section &data() const { return dataSection; }
  const Section &sourceModel() const { return modelSection; }

private:
  MappedMemory memory;
  Section graphSection, codeSection, dataSection, modelSection;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_PLANFILE_H
