//===- PortTasks.cpp - the caller's tensors -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between the tensors of the caller, which are whole, and the buffers of a
// rank. Where a port is split along time, action k moves part k.
//
//===----------------------------------------------------------------------===//

#include "BoxCopy.h"
#include "DataType.h"
#include "TaskBody.h"

#include "oneflow/Runtime/Reduce.h"

using namespace oneflow;
using namespace oneflow::runtime;

namespace {

// Where the parts of a port's tensor begin in the caller's, in bytes, by
// action. Parts of one extent are copied alike.
class PartOffsets {
public:
  void append(const TensorLayout &part, const TensorLayout &whole) {
    int64_t stride = 0;
    if (part.timeDim >= 0) {
      stride = static_cast<int64_t>(dtypeBytes(whole.dtype));
      for (size_t d = part.timeDim + 1; d < whole.shape.size(); ++d)
        stride *= whole.shape[d];
    }
    offsets.push_back(part.timeOffset * stride);
  }
  int64_t at(uint64_t action) const {
    return offsets[offsets.size() == 1 ? 0 : action];
  }

private:
  std::vector<int64_t> offsets;
};

using ShapeVariants = Variants<std::vector<int64_t>, BoxCopy>;

class InputTask final : public TaskBody {
public:
  InputTask(Rank &rank, const TaskPlace &place, const plan::InputBody &body)
      : TaskBody(rank, place), port(body.port()),
        target(address(*body.buffer())) {
    const plan::Plan &graph = rank.plan().graph();
    const plan::Layout &layout = *entry.inputs()->Get(port)->layout();
    whole = TensorLayout::of(layout, graph);
    bool varies = isSplitAlongTime(layout, graph);
    for (uint64_t k = 0; k < (varies ? actions : 1); ++k) {
      TensorLayout part = TensorLayout::at(layout, graph, k);
      offsets.append(part, whole);
      if (copies.append(part.shape))
        continue;
      Box box = part.holding(rank.index()).box;
      copies.add(part.shape) =
          BoxCopy(static_cast<int64_t>(dtypeBytes(whole.dtype)), box,
                  wholeBox(whole.shape), box);
    }
    // Of what is Partial, one part takes the value.
    reducer = layoutReducer(layout);
    hasNeutral =
        reducer == plan::Reducer::Sum || reducer == plan::Reducer::Prod;
    laterPart = whole.holding(rank.index()).laterPart;
    const plan::Sbp *time = timeSbp(layout, graph);
    partialInTime = time && time->kind() == plan::SbpKind::Partial;
  }

private:
  // With the axis of time, which a TensorLayout does not have.
  static plan::Reducer layoutReducer(const plan::Layout &layout) {
    for (const plan::Sbp *sbp : *layout.sbp())
      if (sbp->kind() == plan::SbpKind::Partial)
        return sbp->reducer();
    return plan::Reducer::Sum;
  }

  void work(uint64_t action) override {
    bool later = laterPart || (partialInTime && action > 0);
    if (later && hasNeutral) {
      uint64_t count = static_cast<uint64_t>(copies.at(action).bytes()) /
                       dtypeBytes(whole.dtype);
      return fillNeutral(whole.dtype, reducer, target.at(action), count);
    }
    const auto *from =
        static_cast<const uint8_t *>(rank.control().inputs[port].data);
    copies.at(action).run(from + offsets.at(action), target.at(action));
  }

  const uint32_t port;
  const SlotAddress target;
  TensorLayout whole;
  plan::Reducer reducer;
  bool hasNeutral, laterPart, partialInTime;
  PartOffsets offsets;
  ShapeVariants copies;
};

class OutputTask final : public TaskBody {
public:
  OutputTask(Rank &rank, const TaskPlace &place, const plan::OutputBody &body)
      : TaskBody(rank, place), port(body.port()),
        source(address(*body.buffer())) {
    const plan::Plan &graph = rank.plan().graph();
    const plan::Layout &layout = *entry.outputs()->Get(port)->layout();
    TensorLayout whole = TensorLayout::of(layout, graph);
    bool varies = isSplitAlongTime(layout, graph);
    for (uint64_t k = 0; k < (varies ? actions : 1); ++k) {
      TensorLayout part = TensorLayout::at(layout, graph, k);
      offsets.append(part, whole);
      if (copies.append(part.shape))
        continue;
      Box box = wholeBox(part.shape);
      copies.add(part.shape) =
          BoxCopy(static_cast<int64_t>(dtypeBytes(whole.dtype)), box, box,
                  wholeBox(whole.shape));
    }
    delivers = rank.control().everyRankDelivers ||
               rank.index() == whole.mesh.firstRank;
  }

private:
  void work(uint64_t action) override {
    if (!delivers || rank.failure().poisoned())
      return;
    auto *to = static_cast<uint8_t *>(rank.control().outputs[port].data);
    copies.at(action).run(source.at(action), to + offsets.at(action));
  }

  const uint32_t port;
  const SlotAddress source;
  bool delivers;
  PartOffsets offsets;
  ShapeVariants copies;
};

} // namespace

Status oneflow::runtime::createPortTask(Rank &rank, const TaskPlace &place,
                                        std::unique_ptr<ActorBody> &result) {
  const plan::Task &task =
      *rank.plan().entry(place.entry).tasks()->Get(place.task);
  if (const plan::InputBody *body = task.body_as_InputBody())
    result = std::make_unique<InputTask>(rank, place, *body);
  else
    result =
        std::make_unique<OutputTask>(rank, place, *task.body_as_OutputBody());
  return Status();
}
