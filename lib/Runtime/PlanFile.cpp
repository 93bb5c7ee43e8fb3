//===- PlanFile.cpp - the container on disk -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFile.h"

#include "Checksum.h"

#include "oneflow/Plan/Container.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

using namespace oneflow;
using namespace oneflow::runtime;
using plan::FileHeader;
using plan::SectionEntry;
using plan::SectionKind;

static const char *sectionName(SectionKind kind) {
  switch (kind) {
  case SectionKind::Graph:
    return "graph";
  case SectionKind::CpuCode:
    return "code";
  case SectionKind::Data:
    return "data";
  case SectionKind::SourceModel:
    return "source model";
  }
  return nullptr;
}

// Every section inside the file, behind the table, on its boundary, and apart
// from the others.
static Status checkPlacement(const std::vector<SectionEntry> &entries,
                             uint64_t firstByte, uint64_t fileBytes) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const SectionEntry &entry : entries) {
    const char *name = sectionName(entry.kind);
    if (!name)
      return invalidPlan("unknown section kind ",
                         static_cast<uint32_t>(entry.kind));
    if (entry.offset % plan::kSectionAlignment != 0)
      return invalidPlan("the ", name, " section begins at ", entry.offset,
                         ", expected a multiple of ", plan::kSectionAlignment);
    if (entry.offset < firstByte || entry.offset > fileBytes ||
        entry.bytes > fileBytes - entry.offset)
      return invalidPlan("the ", name, " section [", entry.offset, ", +",
                         entry.bytes, ") does not fit the file of ", fileBytes,
                         " bytes");
    ranges.emplace_back(entry.offset, entry.offset + entry.bytes);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      return invalidPlan("sections overlap at byte ", ranges[i].first);
  return Status();
}

Status PlanFile::open(const char *path, bool verifyData) {
  if (Status status = MappedMemory::mapFile(path, memory))
    return status;
  const uint8_t *base = memory.data();
  FileHeader header;
  if (memory.size() < sizeof(header))
    return invalidPlan("the file has ", memory.size(),
                       " bytes, expected at least ", sizeof(header));
  std::memcpy(&header, base, sizeof(header));
  if (std::memcmp(header.magic, plan::kMagic, sizeof(header.magic)) != 0)
    return invalidPlan("not a plan file: wrong magic number");
  if (header.formatVersion != plan::kFormatVersion)
    return invalidPlan("expected plan format version ", plan::kFormatVersion,
                       ", got ", header.formatVersion);
  if (header.fileBytes != memory.size())
    return invalidPlan("expected a file of ", header.fileBytes, " bytes, got ",
                       memory.size(), "; it is truncated or damaged");
  if (header.sectionCount == 0 || header.sectionCount > plan::kMaxSections)
    return invalidPlan("expected 1 to ", plan::kMaxSections, " sections, got ",
                       header.sectionCount);
  uint64_t tableBytes = header.sectionCount * sizeof(SectionEntry);
  if (memory.size() < sizeof(header) + tableBytes)
    return invalidPlan("the file ends inside the section table");
  if (fastChecksum(base + sizeof(header), tableBytes) != header.tableChecksum)
    return invalidPlan("the section table is damaged: wrong checksum");

  std::vector<SectionEntry> entries(header.sectionCount);
  std::memcpy(entries.data(), base + sizeof(header), tableBytes);
  if (Status status =
          checkPlacement(entries, sizeof(header) + tableBytes, memory.size()))
    return status;
  for (const SectionEntry &entry : entries) {
    Section *section = entry.kind == SectionKind::Graph     ? &graphSection
                       : entry.kind == SectionKind::CpuCode ? &codeSection
                       : entry.kind == SectionKind::Data    ? &dataSection
                                                            : &modelSection;
    const char *name = sectionName(entry.kind);
    if (section->data)
      return invalidPlan("more than one ", name, " section");
    *section = {base + entry.offset, entry.bytes};
    bool always = section == &graphSection || section == &codeSection;
    if ((always || verifyData) &&
        fastChecksum(section->data, section->bytes) != entry.checksum)
      return invalidPlan("the ", name, " section is damaged: wrong checksum");
  }
  if (!graphSection.data)
    return invalidPlan("no graph section");
  return Status();
}
