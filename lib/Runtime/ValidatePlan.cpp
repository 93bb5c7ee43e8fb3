//===- ValidatePlan.cpp - what every plan must satisfy --------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ValidatePlan.h"

#include "CpuFeatures.h"
#include "DataType.h"
#include "Layout.h"

#include "oneflow/Plan/KernelAbi.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

using namespace oneflow;
using namespace oneflow::runtime;
using plan::SbpKind;

namespace {

constexpr int64_t kMaxBytes = int64_t(1) << 62;

template <typename T> uint32_t sizeOf(const T *vector) {
  return vector ? vector->size() : 0;
}

template <typename Enum> bool isEnum(Enum value, Enum last) {
  return static_cast<unsigned>(value) <= static_cast<unsigned>(last);
}

Status checkUnique(std::set<std::string_view> &names,
                   const flatbuffers::String *name, const char *what) {
  if (!names.insert(name->string_view()).second)
    return invalidPlan("two ", what, " are named '", name->string_view(), "'");
  return Status();
}

Status checkPlacement(const plan::Placement &placement) {
  std::string_view name = placement.name()->string_view();
  if (placement.device() == plan::DeviceKind::Cuda)
    return unsupported("placement '", name,
                       "' needs a CUDA device, which this build lacks");
  if (placement.device() != plan::DeviceKind::Cpu)
    return invalidPlan("placement '", name, "' has an unknown device kind");
  int64_t count = 1;
  for (const plan::MeshAxis *axis : *placement.axes()) {
    if (axis->size() == 0)
      return invalidPlan("axis '", axis->name()->string_view(),
                         "' of placement '", name, "' has size 0");
    if (axis->is_time() && axis != placement.axes()->Get(0))
      return invalidPlan("axis '", axis->name()->string_view(),
                         "' of placement '", name,
                         "' is time but not the first axis");
    if (axis->is_time() && axis->size() > kMaxActions)
      return invalidPlan("placement '", name, "' has ", axis->size(),
                         " coordinates of time, expected at most ",
                         kMaxActions);
    count *= axis->is_time() ? 1 : axis->size();
    if (count > kMaxRanks)
      break;
  }
  if (count > kMaxRanks || placement.first_rank() + count > kMaxRanks)
    return invalidPlan("placement '", name, "' spans more than ", kMaxRanks,
                       " ranks");
  return Status();
}

// The extents that splitting one of `extents` into `parts` can leave. At most
// doubles in theory; in practice two neighbours stay two neighbours.
bool splitExtents(std::vector<int64_t> &extents, int64_t parts, int64_t block) {
  std::set<int64_t> result;
  for (int64_t extent : extents) {
    if (extent % block != 0)
      return false;
    int64_t base = extent / block / parts;
    // Parts after the larger ones exist unless all are larger, which cannot be.
    result.insert(base * block);
    if (extent / block % parts != 0)
      result.insert((base + 1) * block);
  }
  extents.assign(result.begin(), result.end());
  return extents.size() <= 1024;
}

Status checkScalar(const plan::Plan &plan, const plan::Scalar &scalar,
                   uint32_t index) {
  std::string what = concat("scalar ", index);
  if (!isEnum(scalar.kind(), plan::ScalarKind::MAX))
    return invalidPlan(what, " has an unknown kind");
  if (scalar.placement() >= plan.placements()->size())
    return invalidPlan(what, " names placement ", scalar.placement(), " of ",
                       plan.placements()->size());
  if (scalar.kind() == plan::ScalarKind::Constant)
    return Status();
  const auto &axes = *plan.placements()->Get(scalar.placement())->axes();
  if (scalar.size() < 0)
    return invalidPlan(what, " has the negative size ", scalar.size());
  if (scalar.kind() == plan::ScalarKind::Coordinate &&
      sizeOf(scalar.steps()) != 1)
    return invalidPlan(what, " is a coordinate; expected 1 step, got: ",
                       sizeOf(scalar.steps()));
  std::vector<int64_t> extents = {scalar.size()};
  if (scalar.steps())
    for (const plan::SplitStep *step : *scalar.steps()) {
      if (step->axis() >= axes.size())
        return invalidPlan(what, " names axis ", step->axis(), " of ",
                           axes.size());
      if (scalar.kind() == plan::ScalarKind::Coordinate)
        continue;
      if (step->block() <= 0)
        return invalidPlan(what, " has block ", step->block());
      if (!splitExtents(extents, axes.Get(step->axis())->size(), step->block()))
        return invalidPlan(what, " splits an extent that is no multiple of ",
                           step->block());
    }
  return Status();
}

Status checkDataRange(const std::string &what, uint64_t offset, uint64_t bytes,
                      uint64_t dataBytes) {
  if (offset % ONEFLOW_BUFFER_ALIGNMENT != 0)
    return invalidPlan(what, " begins at byte ", offset,
                       " of the data section, expected a multiple of ",
                       ONEFLOW_BUFFER_ALIGNMENT);
  if (offset > dataBytes || bytes > dataBytes - offset)
    return invalidPlan(what, " [", offset, ", +", bytes,
                       ") lies outside the data section of ", dataBytes,
                       " bytes");
  return Status();
}

Status checkVariable(const plan::Plan &plan, const plan::Variable &variable,
                     uint64_t dataBytes) {
  std::string what = concat("variable '", variable.name()->string_view(), "'");
  uint64_t logical = 0, local = 0;
  if (Status status =
          checkLayout(plan, *variable.layout(), what, logical, local))
    return status;
  const plan::Sbp *time = timeSbp(*variable.layout(), plan);
  if (time && time->kind() != SbpKind::Broadcast)
    return invalidPlan(what, " is not Broadcast along time");
  if (variable.panel() > 0) {
    // 6. a packed variable is 2-d; its columns are padded to whole panels.
    if (sizeOf(variable.layout()->shape()) != 2)
      return invalidPlan(what, " is packed; expected 2 dimensions, got: ",
                         sizeOf(variable.layout()->shape()));
    if (variable.panel_dim() > 1)
      return invalidPlan(what, " is packed along dimension ",
                         variable.panel_dim(), "; expected 0 or 1");
    uint64_t element = dtypeBytes(variable.layout()->dtype());
    uint64_t rows = variable.layout()->shape()->Get(1 - variable.panel_dim());
    uint64_t padding = 0;
    // Ceiling in both dimensions bounds every rank's packed size.
    if (__builtin_mul_overflow(rows * element, uint64_t(variable.panel()),
                               &padding) ||
        padding > uint64_t(kMaxBytes))
      return invalidPlan(what, " has panels too large for its shape");
  }
  if (variable.local_bytes() < local)
    return invalidPlan(what, " has ", variable.local_bytes(),
                       " local bytes, expected at least ", local);
  if (variable.local_bytes() > uint64_t(kMaxBytes))
    return invalidPlan(what, " is too large");
  if (!isEnum(variable.initial(), plan::Initial::MAX))
    return invalidPlan(what, " has an unknown initial kind");
  if (variable.initial() == plan::Initial::Zeros)
    return Status();
  if (variable.data_bytes() != logical)
    return invalidPlan(what, " has ", variable.data_bytes(),
                       " bytes of data, expected ", logical);
  return checkDataRange(what, variable.data_offset(), variable.data_bytes(),
                        dataBytes);
}

// 7. The parts of a whole are distinct variables of its type and shape which
// together fill it. Overlaps and gaps cannot be said: parts have no offsets.
// `owned` holds what is part of another whole already.
Status checkWhole(const plan::Plan &plan, const plan::Whole &whole,
                  std::set<uint32_t> &owned) {
  std::string what = concat("whole '", whole.name()->string_view(), "'");
  uint32_t rank = whole.shape()->size();
  if (whole.dim() >= rank)
    return invalidPlan(what, " is cut along dimension ", whole.dim(), " of ",
                       rank);
  if (whole.parts()->size() == 0)
    return invalidPlan(what, " has no parts");
  int64_t filled = 0;
  bool trainable = false;
  for (uint32_t i = 0; i < whole.parts()->size(); ++i) {
    uint32_t index = whole.parts()->Get(i);
    if (index >= sizeOf(plan.variables()))
      return invalidPlan(what, " names variable ", index, " of ",
                         sizeOf(plan.variables()));
    const plan::Variable &part = *plan.variables()->Get(index);
    std::string_view name = part.name()->string_view();
    if (!owned.insert(index).second)
      return invalidPlan(what, " has variable '", name,
                         "', which is a part already");
    if (part.layout()->dtype() != whole.dtype())
      return invalidPlan(what, " has element type ", dtypeName(whole.dtype()),
                         ", its part '", name, "' ",
                         dtypeName(part.layout()->dtype()));
    if (sizeOf(part.layout()->shape()) != rank)
      return invalidPlan(what, " has ", rank, " dimensions, its part '", name,
                         "' ", sizeOf(part.layout()->shape()));
    for (uint32_t d = 0; d < rank; ++d)
      if (d != whole.dim() &&
          part.layout()->shape()->Get(d) != whole.shape()->Get(d))
        return invalidPlan(what, " has extent ", whole.shape()->Get(d),
                           " in dimension ", d, ", its part '", name, "' ",
                           part.layout()->shape()->Get(d));
    // Extents of variables were checked before.
    if (__builtin_add_overflow(filled, part.layout()->shape()->Get(whole.dim()),
                               &filled))
      return invalidPlan(what, " has parts that are too large together");
    if (i == 0)
      trainable = part.trainable();
    if (part.trainable() != trainable)
      return invalidPlan(what, " is trainable in part only");
  }
  if (filled != whole.shape()->Get(whole.dim()))
    return invalidPlan(what, " has extent ", whole.shape()->Get(whole.dim()),
                       " in dimension ", whole.dim(), ", its parts together ",
                       filled);
  int64_t bytes = static_cast<int64_t>(dtypeBytes(whole.dtype()));
  for (int64_t extent : *whole.shape())
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes) ||
        bytes > kMaxBytes)
      return invalidPlan(what, " is too large");
  return Status();
}

Status checkTarget(const plan::Plan &plan) {
  if (plan.kernel_abi_version() != ONEFLOW_KERNEL_ABI_VERSION)
    return invalidPlan("expected kernel ABI version ",
                       ONEFLOW_KERNEL_ABI_VERSION,
                       ", got: ", plan.kernel_abi_version());
  if (plan.architecture() && plan.architecture()->size() > 0 &&
      plan.architecture()->string_view() != hostArchitecture())
    return unsupported("the plan's code is for ",
                       plan.architecture()->string_view(), ", this machine is ",
                       hostArchitecture());
  std::vector<std::string> features;
  if (plan.cpu_features())
    for (const flatbuffers::String *feature : *plan.cpu_features())
      features.push_back(feature->str());
  std::string list;
  for (const std::string &feature : missingCpuFeatures(features))
    list += (list.empty() ? "" : ", ") + feature;
  if (!list.empty())
    return unsupported("this CPU lacks features the plan was compiled for: ",
                       list);
  return Status();
}

} // namespace

Status oneflow::runtime::checkLayout(const plan::Plan &plan,
                                     const plan::Layout &layout,
                                     const std::string &what,
                                     uint64_t &logicalBytes,
                                     uint64_t &maxLocalBytes) {
  auto element = static_cast<int64_t>(dtypeBytes(layout.dtype()));
  if (element == 0)
    return invalidPlan(what, " has an unknown element type");
  if (layout.placement() >= plan.placements()->size())
    return invalidPlan(what, " names placement ", layout.placement(), " of ",
                       plan.placements()->size());
  const auto &axes = *plan.placements()->Get(layout.placement())->axes();
  uint32_t rank = sizeOf(layout.shape());
  if (rank > kMaxTensorRank)
    return invalidPlan(what, " has ", rank, " dimensions, expected at most ",
                       kMaxTensorRank);
  if (sizeOf(layout.sbp()) != axes.size())
    return invalidPlan(what, " has ", sizeOf(layout.sbp()),
                       " SBPs, expected one per mesh axis: ", axes.size());
  std::vector<std::vector<int64_t>> extents;
  // Extents of 0 must not hide an overflow in the others, whose products serve
  // as strides.
  int64_t bytes = element;
  bool empty = false;
  for (uint32_t d = 0; d < rank; ++d) {
    int64_t extent = layout.shape()->Get(d);
    if (extent < 0)
      return invalidPlan(what, " has extent ", extent, " in dimension ", d);
    empty |= extent == 0;
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes) ||
        bytes > kMaxBytes)
      return invalidPlan(what, " is too large");
    extents.push_back({extent});
  }
  logicalBytes = empty ? 0 : static_cast<uint64_t>(bytes);

  const plan::Sbp *partial = nullptr;
  for (uint32_t axis = 0; axis < axes.size(); ++axis) {
    const plan::Sbp *sbp = layout.sbp()->Get(axis);
    if (!isEnum(sbp->kind(), SbpKind::MAX) ||
        !isEnum(sbp->reducer(), plan::Reducer::MAX))
      return invalidPlan(what, " has an unknown SBP on mesh axis ", axis);
    if (sbp->kind() == SbpKind::Partial) {
      if (partial && partial->reducer() != sbp->reducer())
        return invalidPlan(what, " mixes reducers in its Partial axes");
      partial = sbp;
    }
    if (sbp->kind() != SbpKind::Split)
      continue;
    if (sbp->dim() < 0 || sbp->dim() >= rank)
      return invalidPlan(what, " splits dimension ", sbp->dim(), " of ", rank);
    if (sbp->block() <= 0)
      return invalidPlan(what, " splits by blocks of ", sbp->block());
    if (!splitExtents(extents[sbp->dim()], axes.Get(axis)->size(),
                      sbp->block()))
      return invalidPlan(what, " splits an extent of dimension ", sbp->dim(),
                         " that is no multiple of its block ", sbp->block());
  }
  maxLocalBytes = element;
  for (const std::vector<int64_t> &each : extents)
    maxLocalBytes *= *std::max_element(each.begin(), each.end());
  return Status();
}

Status oneflow::runtime::validatePlan(const plan::Plan &plan,
                                      uint64_t dataBytes) {
  if (Status status = checkTarget(plan))
    return status;
  std::set<std::string_view> placements, variables, streams, entries;
  if (plan.placements()->size() == 0)
    return invalidPlan("the plan has no placement");
  for (const plan::Placement *placement : *plan.placements()) {
    if (Status status =
            checkUnique(placements, placement->name(), "placements"))
      return status;
    if (Status status = checkPlacement(*placement))
      return status;
  }
  for (uint32_t i = 0; i < sizeOf(plan.scalars()); ++i)
    if (Status status = checkScalar(plan, *plan.scalars()->Get(i), i))
      return status;
  for (uint32_t i = 0; i < sizeOf(plan.variables()); ++i) {
    const plan::Variable &variable = *plan.variables()->Get(i);
    if (Status status = checkUnique(variables, variable.name(), "variables"))
      return status;
    if (Status status = checkVariable(plan, variable, dataBytes))
      return status;
  }
  std::set<uint32_t> owned;
  for (uint32_t i = 0; i < sizeOf(plan.wholes()); ++i) {
    const plan::Whole &whole = *plan.wholes()->Get(i);
    if (Status status = checkUnique(variables, whole.name(), "variables"))
      return status;
    if (Status status = checkWhole(plan, whole, owned))
      return status;
  }
  for (uint32_t i = 0; i < sizeOf(plan.constants()); ++i) {
    const plan::Constant &constant = *plan.constants()->Get(i);
    if (Status status =
            checkDataRange(concat("constant ", i), constant.data_offset(),
                           constant.bytes(), dataBytes))
      return status;
  }
  for (uint32_t i = 0; i < sizeOf(plan.streams()); ++i) {
    const plan::Stream &stream = *plan.streams()->Get(i);
    if (Status status = checkUnique(streams, stream.name(), "streams"))
      return status;
    if (!isEnum(stream.kind(), plan::StreamKind::MAX))
      return invalidPlan("stream '", stream.name()->string_view(),
                         "' has an unknown kind");
  }
  for (const plan::Entry *entry : *plan.entries())
    for (uint32_t i = 0; i < sizeOf(entry->phases()); ++i)
      if (uint64_t(entry->phases()->Get(i)->actions()) *
              sizeOf(plan.scalars()) >
          kMaxSteps)
        return invalidPlan("its scalars have more than ", kMaxSteps,
                           " values in all actions of phase '",
                           entry->phases()->Get(i)->name()->string_view(), "'");
  for (const plan::Entry *entry : *plan.entries()) {
    if (Status status = checkUnique(entries, entry->name(), "entries"))
      return status;
    if (Status status = validateEntry(plan, *entry))
      return Status(status.code(),
                    concat("entry '", entry->name()->string_view(),
                           "': ", status.message()),
                    status.location());
  }
  return Status();
}
