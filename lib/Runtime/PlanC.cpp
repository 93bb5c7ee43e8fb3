//===- PlanC.cpp - C API: plans -------------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApi.h"

#include <cstring>

using namespace oneflow;
using namespace oneflow::runtime;

// Whether the caller's struct, which may be of an older version, has the field.
#define HAS_FIELD(options, field)                                              \
  ((options) &&                                                                \
   (options)->struct_size >=                                                   \
       offsetof(std::remove_reference_t<decltype(*(options))>, field) +        \
           sizeof((options)->field))

of_status_t *of_plan_load(const char *path, const of_plan_options_t *options,
                          of_plan_t **plan) {
  return guarded([&]() -> Status {
    if (!path || !plan)
      return invalidArgument("of_plan_load: path and plan must not be null");
    *plan = nullptr;
    bool verify = HAS_FIELD(options, verify_data) && options->verify_data != 0;
    auto result = std::make_unique<of_plan_t>();
    if (Status status = LoadedPlan::load(path, verify, result->loaded))
      return status;
    *plan = result.release();
    return Status();
  });
}

void of_plan_free(of_plan_t *plan) { delete plan; }

// The entry of a valid index, else null.
static const plan::Entry *entryOf(const of_plan_t *plan, int32_t entry) {
  if (!plan || entry < 0 ||
      static_cast<uint32_t>(entry) >= plan->loaded->entryCount())
    return nullptr;
  return &plan->loaded->entry(entry);
}

template <typename T> static int32_t countOf(const T *vector) {
  return vector ? static_cast<int32_t>(vector->size()) : 0;
}

static const char *textOf(const flatbuffers::String *string) {
  return string ? string->c_str() : "";
}

int32_t of_plan_get_rank_count(const of_plan_t *plan) {
  return plan ? plan->loaded->rankCount() : 0;
}

int32_t of_plan_get_entry_count(const of_plan_t *plan) {
  return plan ? static_cast<int32_t>(plan->loaded->entryCount()) : 0;
}

const char *of_plan_get_entry_name(const of_plan_t *plan, int32_t entry) {
  const plan::Entry *found = entryOf(plan, entry);
  return found ? found->name()->c_str() : nullptr;
}

int32_t of_plan_find_entry(const of_plan_t *plan, const char *name) {
  for (int32_t i = 0; name && i < of_plan_get_entry_count(plan); ++i)
    if (std::strcmp(of_plan_get_entry_name(plan, i), name) == 0)
      return i;
  return -1;
}

int32_t of_plan_get_input_count(const of_plan_t *plan, int32_t entry) {
  const plan::Entry *found = entryOf(plan, entry);
  return found ? countOf(found->inputs()) : 0;
}

int32_t of_plan_get_output_count(const of_plan_t *plan, int32_t entry) {
  const plan::Entry *found = entryOf(plan, entry);
  return found ? countOf(found->outputs()) : 0;
}

static of_tensor_info_t describe(const flatbuffers::String *name,
                                 const flatbuffers::String *location,
                                 plan::DType dtype,
                                 const flatbuffers::Vector<int64_t> *shape) {
  of_tensor_info_t info = {};
  info.name = name->c_str();
  info.location = textOf(location);
  info.dtype = static_cast<of_dtype>(dtype);
  info.rank = countOf(shape);
  // Plans are little-endian and aligned like this machine's memory.
  info.shape = shape ? shape->data() : nullptr;
  return info;
}

using Ports = flatbuffers::Vector<flatbuffers::Offset<plan::Port>>;

static Status describePort(const Ports *ports, int32_t index,
                           of_tensor_info_t *info) {
  if (!info)
    return invalidArgument("info must not be null");
  if (index < 0 || index >= countOf(ports))
    return invalidArgument("expected an index below ", countOf(ports),
                           ", got: ", index);
  const plan::Port &port = *ports->Get(index);
  *info = describe(port.name(), port.location(), port.layout()->dtype(),
                   port.layout()->shape());
  return Status();
}

of_status_t *of_plan_get_input(const of_plan_t *plan, int32_t entry,
                               int32_t index, of_tensor_info_t *info) {
  return guarded([&]() -> Status {
    const plan::Entry *found = entryOf(plan, entry);
    if (!found)
      return invalidArgument("the plan has no entry ", entry);
    return describePort(found->inputs(), index, info);
  });
}

of_status_t *of_plan_get_output(const of_plan_t *plan, int32_t entry,
                                int32_t index, of_tensor_info_t *info) {
  return guarded([&]() -> Status {
    const plan::Entry *found = entryOf(plan, entry);
    if (!found)
      return invalidArgument("the plan has no entry ", entry);
    return describePort(found->outputs(), index, info);
  });
}

int32_t of_plan_get_variable_count(const of_plan_t *plan) {
  return plan ? static_cast<int32_t>(plan->loaded->userVariables().size()) : 0;
}

of_status_t *of_plan_get_variable(const of_plan_t *plan, int32_t index,
                                  of_tensor_info_t *info) {
  return guarded([&]() -> Status {
    if (!info || index < 0 || index >= of_plan_get_variable_count(plan))
      return invalidArgument("expected a variable below ",
                             of_plan_get_variable_count(plan),
                             ", got: ", index);
    const UserVariable &variable = plan->loaded->userVariables()[index];
    *info = describe(variable.name, variable.location, variable.dtype,
                     variable.shape);
    info->trainable = variable.trainable;
    return Status();
  });
}

int32_t of_plan_find_variable(const of_plan_t *plan, const char *name) {
  for (int32_t i = 0; name && i < of_plan_get_variable_count(plan); ++i)
    if (std::strcmp(plan->loaded->userVariables()[i].name->c_str(), name) == 0)
      return i;
  return -1;
}

const char *of_plan_get_metadata(const of_plan_t *plan, const char *key) {
  if (!plan || !key || !plan->loaded->graph().metadata())
    return nullptr;
  for (const plan::KeyValue *pair : *plan->loaded->graph().metadata())
    if (std::strcmp(pair->key()->c_str(), key) == 0)
      return textOf(pair->value());
  return nullptr;
}

const void *of_plan_get_source_model(const of_plan_t *plan, size_t *bytes) {
  Section section = plan ? plan->loaded->sourceModel() : Section();
  if (bytes)
    *bytes = section.bytes;
  return section.bytes > 0 ? section.data : nullptr;
}

uint64_t of_plan_get_arena_bytes(const of_plan_t *plan, int32_t entry) {
  const plan::Entry *found = entryOf(plan, entry);
  return found ? found->arena_bytes() : 0;
}

uint64_t of_plan_get_variable_bytes(const of_plan_t *plan) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; plan && i < plan->loaded->variableCount(); ++i)
    bytes += plan->loaded->variable(i).local_bytes();
  return bytes;
}

int32_t of_plan_get_task_count(const of_plan_t *plan, int32_t entry) {
  const plan::Entry *found = entryOf(plan, entry);
  return found ? countOf(found->tasks()) : 0;
}

int32_t of_plan_get_kernel_count(const of_plan_t *plan) {
  return plan ? countOf(plan->loaded->graph().kernels()) : 0;
}
