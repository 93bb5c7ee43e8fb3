//===- PackedProjection.cpp - several projections in one matmul -----------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows the packed dimension from a matmul through bias adds, reshapes and
// transposes to the slices that cut it.
//
//===----------------------------------------------------------------------===//

#include "PackedProjection.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace oneflow;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Where a reshape puts the packed dimension; nothing where elements that were
/// one index apart no longer lie in one dimension.
static std::optional<PackedDim>
reshaped(PackedDim packed, ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  int64_t before = 1, extent = from[packed.dim], product = 1;
  for (int64_t d = 0; d < packed.dim; ++d)
    before *= from[d];
  for (auto [dim, size] : llvm::enumerate(to)) {
    if (product == before && size > 1) {
      if (extent % size != 0)
        return std::nullopt;
      return PackedDim{static_cast<int64_t>(dim),
                       packed.unit * (extent / size)};
    }
    product *= size;
  }
  return std::nullopt;
}

namespace {

/// Fills a projection; every function is false where it is none.
class Tracer {
public:
  explicit Tracer(PackedProjection &projection) : projection(projection) {}

  bool trace(Value value, PackedDim packed) {
    RankedTensorType type = typeOf(value);
    if (!type.hasStaticShape() || type.getDimSize(packed.dim) < 2)
      return false;
    auto producer = dyn_cast<SpreadOpInterface>(value.getDefiningOp());
    if (!producer || producer.getSignatureAttr() ||
        producer->hasAttr(kSbpAttrName))
      return false;
    projection.values[value] = packed;
    return llvm::all_of(value.getUses(),
                        [&](OpOperand &use) { return traceUse(use, packed); });
  }

private:
  bool traceUse(OpOperand &use, PackedDim packed) {
    Operation *user = use.getOwner();
    if (auto slice = dyn_cast<SliceOp>(user))
      return traceSlice(use, slice, packed);
    if (auto gather = dyn_cast<GatherOp>(user))
      return traceGather(use, gather, packed);
    if (auto reshape = dyn_cast<ReshapeOp>(user)) {
      std::optional<PackedDim> moved =
          reshaped(packed, typeOf(use.get()).getShape(),
                   typeOf(reshape.getResult()).getShape());
      return moved && trace(reshape.getResult(), *moved);
    }
    if (auto transpose = dyn_cast<TransposeOp>(user)) {
      ArrayRef<int64_t> permutation = transpose.getPermutation();
      int64_t dim = llvm::find(permutation, packed.dim) - permutation.begin();
      return trace(transpose.getResult(), {dim, packed.unit});
    }
    if (auto add = dyn_cast<AddOp>(user)) {
      // A sum with a wider tensor would move the dimension; nothing needs it.
      if (add.getResult().getType() != use.get().getType())
        return false;
      OpOperand &other = add->getOpOperand(1 - use.getOperandNumber());
      return traceAddend(other, typeOf(use.get()), packed) &&
             trace(add.getResult(), packed);
    }
    return false;
  }

  /// The other operand of a sum: it lacks the packed dimension, or a variable
  /// or constant has it whole.
  bool traceAddend(OpOperand &addend, RankedTensorType sum, PackedDim packed) {
    RankedTensorType type = typeOf(addend.get());
    int64_t dim = packed.dim - (sum.getRank() - type.getRank());
    if (dim < 0 || type.getDimSize(dim) == 1)
      return true;
    if (!isa_and_present<ReadOp, ConstantOp>(addend.get().getDefiningOp()))
      return false;
    projection.operands.push_back({&addend, {dim, packed.unit}});
    return true;
  }

  bool traceSlice(OpOperand &use, SliceOp slice, PackedDim packed) {
    RankedTensorType type = typeOf(slice.getX());
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (slice.getStrides()[d] != 1)
        return false;
      if (d != packed.dim && slice.getSizes()[d] != type.getDimSize(d))
        return false;
    }
    return !slice.getSignatureAttr() && !isPinned(slice) &&
           addCut(use, packed, slice.getOffsets()[packed.dim],
                  slice.getSizes()[packed.dim]);
  }

  bool traceGather(OpOperand &use, GatherOp gather, PackedDim packed) {
    DenseIntElementsAttr indices;
    if (use.get() != gather.getTable() || gather.getSignatureAttr() ||
        isPinned(gather) ||
        static_cast<int64_t>(gather.getDim()) != packed.dim ||
        typeOf(gather.getIndices()).getRank() != 0 ||
        !matchPattern(gather.getIndices(), m_Constant(&indices)))
      return false;
    int64_t extent = typeOf(use.get()).getDimSize(packed.dim);
    int64_t index = (*indices.begin()).getSExtValue();
    // Out of range is an error of the step, which must stay.
    if (index < -extent || index >= extent)
      return false;
    return addCut(use, packed, index < 0 ? index + extent : index, 1);
  }

  bool addCut(OpOperand &use, PackedDim packed, int64_t offset, int64_t size) {
    projection.cuts.push_back(
        {&use, {offset * packed.unit, (offset + size) * packed.unit}});
    return true;
  }

  PackedProjection &projection;
};

} // namespace

/// Whether the shardings of `op` stay true of its parts: none cuts the packed
/// dimension.
static bool partsObey(Operation *op, const PackedProjection &projection) {
  auto shardings = op->getAttrOfType<ArrayAttr>(kShardingAttrName);
  if (!shardings)
    return true;
  auto packedDim = [&](ShardingAttr sharding) -> std::optional<int64_t> {
    unsigned index = sharding.getIndex();
    if (!sharding.getIsOperand())
      return projection.values.lookup(op->getResult(index)).dim;
    OpOperand &use = op->getOpOperand(index);
    for (const PackedProjection::Operand &operand : projection.operands)
      if (operand.use == &use)
        return operand.packed.dim;
    auto inside = projection.values.find(use.get());
    if (inside != projection.values.end())
      return inside->second.dim;
    return std::nullopt;
  };
  return llvm::all_of(
      shardings.getAsRange<ShardingAttr>(), [&](ShardingAttr sharding) {
        std::optional<int64_t> packed = packedDim(sharding);
        return !packed ||
               llvm::none_of(sharding.toSharding().dims,
                             [&](const sbp::ShardedDim &cut) {
                               return cut.dim == *packed && cut.shards > 1;
                             });
      });
}

std::optional<PackedProjection> PackedProjection::match(MatmulOp matmul) {
  OpOperand &weight = matmul.getRhsMutable();
  RankedTensorType type = typeOf(weight.get());
  if (!weight.get().getDefiningOp<ReadOp>() || type.getRank() != 2 ||
      matmul.getLhs() == matmul.getRhs())
    return std::nullopt;
  PackedProjection projection;
  projection.matmul = matmul;
  projection.operands.push_back(
      {&weight, {matmul.getTransposeRhs() ? 0 : 1, 1}});
  int64_t last = typeOf(matmul.getResult()).getRank() - 1;
  if (!Tracer(projection).trace(matmul.getResult(), {last, 1}))
    return std::nullopt;

  for (auto &[value, packed] : projection.values)
    if (!partsObey(value.getDefiningOp(), projection))
      return std::nullopt;

  // Several cuts may take the same interval.
  SmallVector<Interval> &intervals = projection.intervals;
  for (const Cut &cut : projection.cuts)
    intervals.push_back(cut.interval);
  llvm::sort(intervals);
  intervals.erase(llvm::unique(intervals), intervals.end());
  int64_t end = 0;
  for (const Interval &interval : intervals) {
    if (interval.begin != end || interval.end == end)
      return std::nullopt;
    end = interval.end;
  }
  if (intervals.size() < 2 ||
      end != typeOf(matmul.getResult()).getDimSize(last))
    return std::nullopt;
  return projection;
}
