//===- Variable.cpp - tensors that outlive a step -------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Variable.h"

#include "BoxCopy.h"
#include "DataType.h"

#include "oneflow/Runtime/Reduce.h"

#include <algorithm>
#include <map>
#include <utility>

using namespace oneflow;
using namespace oneflow::runtime;

void oneflow::runtime::takePart(const TensorLayout &layout,
                                const Holding &holding, const void *logical,
                                void *local) {
  plan::Reducer reducer = layout.reducer();
  bool neutral =
      reducer == plan::Reducer::Sum || reducer == plan::Reducer::Prod;
  if (holding.laterPart && neutral)
    return fillNeutral(layout.dtype, reducer, local, elementCount(holding.box));
  BoxCopy(dtypeBytes(layout.dtype), holding.box, wholeBox(layout.shape),
          holding.box)
      .run(logical, local);
}

uint64_t oneflow::runtime::contributedBytes(const TensorLayout &layout,
                                            int64_t rank) {
  if (!layout.mesh.contains(rank))
    return 0;
  Holding holding = layout.holding(rank);
  return holding.replica ? 0
                         : elementCount(holding.box) * dtypeBytes(layout.dtype);
}

void oneflow::runtime::gatherParts(const TensorLayout &layout,
                                   const std::vector<const uint8_t *> &parts,
                                   void *logical) {
  auto element = static_cast<int64_t>(dtypeBytes(layout.dtype));
  Box whole = wholeBox(layout.shape);
  // Ranks whose boxes are equal hold parts of one sum, all others disjoint
  // boxes.
  std::map<std::vector<int64_t>, std::pair<Box, std::vector<const void *>>>
      boxes;
  for (int64_t i = 0; i < layout.mesh.rankCount(); ++i) {
    int64_t rank = layout.mesh.firstRank + i;
    Holding holding = layout.holding(rank);
    if (holding.replica || elementCount(holding.box) == 0)
      continue;
    std::vector<int64_t> key;
    for (const plan::Interval &interval : holding.box)
      key.push_back(interval.offset);
    auto &[box, members] = boxes[key];
    box = holding.box;
    members.push_back(parts[rank]);
  }
  for (const auto &[key, group] : boxes) {
    const auto &[box, members] = group;
    BoxCopy copy(element, box, box, whole);
    if (members.size() == 1) {
      copy.run(members.front(), logical);
      continue;
    }
    std::vector<uint8_t> sum(copy.bytes());
    reduceParts(layout.dtype, layout.reducer(), members.data(),
                static_cast<int>(members.size()), sum.data(),
                elementCount(box));
    copy.run(sum.data(), logical);
  }
}

Status VariableStorage::bind(const plan::Variable &variable,
                             const plan::Plan &plan, int rank) {
  tensorLayout = TensorLayout::of(*variable.layout(), plan);
  panel = variable.panel();
  panelDim = variable.panel_dim();
  present = tensorLayout.mesh.contains(rank);
  if (!present)
    return Status();
  part = tensorLayout.holding(rank);
  uint64_t needed = denseBytes();
  if (panel > 0)
    needed = uint64_t((part.box[panelDim].extent + panel - 1) / panel) *
             part.box[1 - panelDim].extent * panel *
             dtypeBytes(tensorLayout.dtype);
  if (variable.local_bytes() < needed)
    return invalidPlan("variable '", variable.name()->string_view(), "' has ",
                       variable.local_bytes(),
                       " local bytes, expected at least ", needed);
  return MappedMemory::allocate(variable.local_bytes(), "a variable", memory);
}

uint64_t VariableStorage::denseBytes() const {
  return elementCount(part.box) * dtypeBytes(tensorLayout.dtype);
}

void VariableStorage::setLogical(const void *value) {
  if (panel == 0)
    return takePart(tensorLayout, part, value, memory.data());
  std::vector<uint8_t> dense(denseBytes());
  takePart(tensorLayout, part, value, dense.data());
  pack(dense.data());
}

void VariableStorage::getDense(void *value) const {
  if (panel > 0)
    return unpack(static_cast<uint8_t *>(value));
  if (denseBytes() > 0)
    std::memcpy(value, memory.data(), denseBytes());
}

template <typename Visit>
void VariableStorage::forEachPacked(Visit visit) const {
  uint64_t element = dtypeBytes(tensorLayout.dtype);
  uint64_t columns = part.box[1].extent;
  uint64_t across = part.box[1 - panelDim].extent;
  uint64_t along = part.box[panelDim].extent;
  for (uint64_t n = 0; n < along; ++n) {
    for (uint64_t k = 0; k < across; ++k) {
      uint64_t dense = panelDim == 1 ? k * columns + n : n * columns + k;
      uint64_t packed = (n / panel * across + k) * panel + n % panel;
      visit(dense * element, packed * element);
    }
  }
}

void VariableStorage::pack(const uint8_t *dense) {
  uint64_t element = dtypeBytes(tensorLayout.dtype);
  // Memory is zeroed at first, and what lies behind the last element stays so.
  forEachPacked([&](uint64_t from, uint64_t to) {
    std::memcpy(memory.data() + to, dense + from, element);
  });
}

void VariableStorage::unpack(uint8_t *dense) const {
  uint64_t element = dtypeBytes(tensorLayout.dtype);
  forEachPacked([&](uint64_t to, uint64_t from) {
    std::memcpy(dense + to, memory.data() + from, element);
  });
}
