//===- LoadedPlan.cpp - a plan in memory ----------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoadedPlan.h"

#include "Layout.h"
#include "ValidatePlan.h"

#include <algorithm>
#include <set>

using namespace oneflow;
using namespace oneflow::runtime;

Status LoadedPlan::open(const char *path, bool verifyData) {
  if (Status status = file.open(path, verifyData))
    return status;
  const Section &graph = file.graph();
  // A table takes at least four bytes, so this limit only bounds the work.
  auto maxTables = static_cast<flatbuffers::uoffset_t>(
      std::min<uint64_t>(graph.bytes / 4 + 1, 1u << 30));
  if (graph.bytes >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return invalidPlan("the graph section is larger than 2 GiB");
  flatbuffers::Verifier verifier(graph.data, graph.bytes, /*max_depth=*/64,
                                 maxTables);
  if (!plan::VerifyPlanBuffer(verifier))
    return invalidPlan("the graph section is malformed");
  root = plan::GetPlan(graph.data);
  if (Status status = validatePlan(*root, file.data().bytes))
    return status;
  for (const plan::Placement *placement : *root->placements()) {
    Mesh mesh = Mesh::of(*placement);
    ranks =
        std::max(ranks, static_cast<int>(mesh.firstRank + mesh.rankCount()));
  }
  listUserVariables();
  listTransferStreams();
  if (file.code().data)
    if (Status status = code.load(file.code().data, file.code().bytes))
      return status;
  return link();
}

void LoadedPlan::listUserVariables() {
  std::vector<const plan::Whole *> wholes(variableCount());
  if (root->wholes())
    for (const plan::Whole *whole : *root->wholes())
      for (uint32_t part : *whole->parts())
        wholes[part] = whole;
  std::set<const plan::Whole *> listed;
  for (uint32_t i = 0; i < variableCount(); ++i) {
    UserVariable user;
    user.trainable = variable(i).trainable();
    if (const plan::Whole *whole = wholes[i]) {
      if (!listed.insert(whole).second)
        continue;
      user.name = whole->name();
      user.location = whole->location();
      user.dtype = whole->dtype();
      user.shape = whole->shape();
      user.parts.assign(whole->parts()->begin(), whole->parts()->end());
      user.dim = whole->dim();
    } else {
      user.name = variable(i).name();
      user.location = variable(i).location();
      user.dtype = variable(i).layout()->dtype();
      user.shape = variable(i).layout()->shape();
      user.parts = {i};
    }
    users.push_back(std::move(user));
  }
}

void LoadedPlan::listTransferStreams() {
  std::set<uint32_t> found;
  for (const plan::Entry *entry : *root->entries())
    if (entry->tasks())
      for (const plan::Task *task : *entry->tasks())
        if (root->streams()->Get(task->stream())->kind() ==
            plan::StreamKind::CpuTransfer)
          found.insert(task->stream());
  transfers.assign(found.begin(), found.end());
}

Status LoadedPlan::link() {
  for (const plan::Entry *entry : *root->entries()) {
    std::vector<OfChainFn> &functions = chains.emplace_back();
    if (!entry->tasks())
      continue;
    for (const plan::Task *task : *entry->tasks()) {
      OfChainFn function = nullptr;
      if (const plan::ChainBody *body = task->body_as_ChainBody()) {
        std::string_view name = body->function()->string_view();
        function = reinterpret_cast<OfChainFn>(code.findFunction(name));
        if (!function)
          return invalidPlan("the code section does not define '", name,
                             "', which task '", task->name()->string_view(),
                             "' calls");
      }
      functions.push_back(function);
    }
  }
  return Status();
}

Status LoadedPlan::load(const char *path, bool verifyData,
                        std::shared_ptr<const LoadedPlan> &result) {
  auto loaded = std::make_shared<LoadedPlan>();
  if (Status status = loaded->open(path, verifyData))
    return Status(status.code(), concat("'", path, "': ", status.message()),
                  status.location());
  result = std::move(loaded);
  return Status();
}
