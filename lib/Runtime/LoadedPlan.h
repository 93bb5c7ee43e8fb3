//===- LoadedPlan.h - a plan in memory --------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file, its verified graph and its code, together: what all sessions of a
// plan share. Immutable after load, so any thread may use it.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_LOADEDPLAN_H
#define ONEFLOW_RUNTIME_LOADEDPLAN_H

#include "ElfImage.h"
#include "PlanFile.h"

#include "oneflow/Plan/KernelAbi.h"
#include "oneflow/Plan/Plan_generated.h"

#include <memory>
#include <vector>

namespace oneflow::runtime {

/// A tensor that outlives a step, as the user knows it: one variable of the
/// plan, or several that are the parts of one whole.
struct UserVariable {
  const flatbuffers::String *name = nullptr;
  /// May be null.
  const flatbuffers::String *location = nullptr;
  plan::DType dtype = plan::DType::F32;
  /// Null for a scalar.
  const flatbuffers::Vector<int64_t> *shape = nullptr;
  bool trainable = false;
  /// Variables of the plan, one behind the other along dimension `dim`.
  std::vector<uint32_t> parts;
  uint32_t dim = 0;
};

class LoadedPlan {
public:
  /// Maps, verifies and links. Messages name `path`.
  static Status load(const char *path, bool verifyData,
                     std::shared_ptr<const LoadedPlan> &result);

  const plan::Plan &graph() const { return *root; }
  int rankCount() const { return ranks; }

  uint32_t entryCount() const { return root->entries()->size(); }
  const plan::Entry &entry(uint32_t index) const {
    return *root->entries()->Get(index);
  }
  uint32_t variableCount() const {
    return root->variables() ? root->variables()->size() : 0;
  }
  const plan::Variable &variable(uint32_t index) const {
    return *root->variables()->Get(index);
  }
  /// The variables as the user counts them, each whole where the first of its
  /// parts stands in the plan.
  const std::vector<UserVariable> &userVariables() const { return users; }
  uint32_t streamCount() const {
    return root->streams() ? root->streams()->size() : 0;
  }
  /// The CpuTransfer streams that have tasks, ascending.
  const std::vector<uint32_t> &transferStreams() const { return transfers; }
  /// The chain of a task; null for tasks that are no chains.
  OfChainFn chain(uint32_t entry, uint32_t task) const {
    return chains[entry][task];
  }
  const uint8_t *data() const { return file.data().data; }
  const Section &sourceModel() const { return file.sourceModel(); }

private:
  Status open(const char *path, bool verifyData);
  Status link();
  void listUserVariables();
  void listTransferStreams();

  PlanFile file;
  ElfImage code;
  const plan::Plan *root = nullptr;
  int ranks = 0;
  std::vector<UserVariable> users;
  std::vector<uint32_t> transfers;
  std::vector<std::vector<OfChainFn>> chains;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_LOADEDPLAN_H
