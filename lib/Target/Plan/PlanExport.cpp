//===- PlanExport.cpp - writing .ofp files --------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lays the sections of a plan out in a file.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Target/PlanExport.h"

#include "DataSection.h"
#include "GraphSection.h"

#include "oneflow/Conversion/ChainBuffers.h"
#include "oneflow/Plan/Container.h"

#include <cstring>

using namespace mlir;
using namespace oneflow;

std::vector<std::string> oneflow::getChainSymbols(ModuleOp module) {
  std::vector<std::string> symbols;
  for (auto graph : module.getOps<actor::GraphOp>())
    for (auto task : graph.getOps<actor::TaskOp>())
      if (isChain(task))
        symbols.push_back(getChainSymbol(graph, task));
  return symbols;
}

static std::string
layOut(ArrayRef<std::pair<plan::SectionKind, StringRef>> sections) {
  auto align = [](uint64_t bytes) {
    return (bytes + plan::kSectionAlignment - 1) / plan::kSectionAlignment *
           plan::kSectionAlignment;
  };
  std::vector<plan::SectionEntry> table;
  uint64_t offset = align(sizeof(plan::FileHeader) +
                          sections.size() * sizeof(plan::SectionEntry));
  for (auto [kind, bytes] : sections) {
    table.push_back({kind, 0, offset, bytes.size(),
                     plan::checksum(bytes.data(), bytes.size())});
    offset = align(offset + bytes.size());
  }
  plan::FileHeader header;
  std::memcpy(header.magic, plan::kMagic, sizeof(header.magic));
  header.formatVersion = plan::kFormatVersion;
  header.sectionCount = table.size();
  header.fileBytes = offset;
  size_t tableBytes = table.size() * sizeof(plan::SectionEntry);
  header.tableChecksum = plan::checksum(table.data(), tableBytes);

  std::string file(offset, '\0');
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), table.data(), tableBytes);
  for (auto [entry, section] : llvm::zip(table, sections))
    std::memcpy(file.data() + entry.offset, section.second.data(),
                section.second.size());
  return file;
}

FailureOr<std::string> oneflow::exportPlan(ModuleOp module,
                                           const CpuObject &code,
                                           const PlanExportOptions &options) {
  DataSection data;
  GraphSection graph(module, data);
  if (failed(graph.build(code, options)))
    return failure();
  SmallVector<std::pair<plan::SectionKind, StringRef>> sections;
  sections.push_back({plan::SectionKind::Graph, graph.getBytes()});
  if (!code.elf.empty())
    sections.push_back({plan::SectionKind::CpuCode,
                        StringRef(code.elf.data(), code.elf.size())});
  if (!data.getBytes().empty())
    sections.push_back({plan::SectionKind::Data, data.getBytes()});
  if (!options.sourceModel.empty())
    sections.push_back({plan::SectionKind::SourceModel, options.sourceModel});
  return layOut(sections);
}
