//===- KernelClass.cpp - what loop nest computes a kernel -----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every tensor that the kernel computes and every loop of its ops has
// dimensions; those that indexing maps identify are one class (union-find). Ops
// that may share a nest then have the same classes of loops. Dimensions of
// extent 1 take no part: nothing runs along them. What is read from arguments
// takes no part either: it is there before the nest starts, and may be read at
// any index.
//
//===----------------------------------------------------------------------===//

#include "KernelClass.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>

using namespace mlir;
using namespace oneflow::comm;

namespace {

/// A dimension class; kUnit for dimensions of extent 1.
using Dim = int;
constexpr Dim kUnit = -1;
using Dims = SmallVector<Dim, 4>;

/// Larger constants stay where they are: every clone would be a copy in the
/// code.
constexpr int64_t kMaxClonedElements = 64;

/// Where the elements of a tensor come from.
enum class Source {
  /// From scalars; computed again wherever it is read.
  Constant,
  /// An argument, or an argument seen in another shape.
  Argument,
  /// An argument with dimensions merged: its elements are found by divisions.
  Reshaped,
  /// Computed by a loop nest of the kernel.
  Computed,
};

/// An op that needs loops.
struct Work {
  linalg::LinalgOp op;
  Dims loops;
  bool reduces = false;
  bool product = false;
};

class Classifier {
public:
  explicit Classifier(KernelOp kernel) : body(kernel.getBody().front()) {}

  KernelClass run();

private:
  bool visit(Operation &op);
  bool visitLinalg(linalg::LinalgOp op);
  bool visitReshape(Value source, Value result,
                    ArrayRef<ReassociationIndices> groups, bool collapses);
  bool readsComputedByExtract(Operation &op);
  KernelClass::Kind classifyWork();
  KernelClass::Kind classifyProduct(Work &product);
  KernelClass::Kind classifyRows();
  bool isStridedArgument(Value tensor);

  Source sourceOf(Value tensor) {
    auto place = sources.find(tensor);
    return place == sources.end() ? Source::Argument : place->second;
  }
  Dims freshDims(ArrayRef<int64_t> extents) {
    Dims dims;
    for (int64_t extent : extents)
      dims.push_back(extent == 1 ? kUnit
                                 : parents.emplace_back(parents.size()));
    return dims;
  }
  Dim find(Dim dim) {
    while (parents[dim] != dim)
      dim = parents[dim] = parents[parents[dim]];
    return dim;
  }
  void unite(Dim a, Dim b) {
    if (a != kUnit && b != kUnit)
      parents[find(b)] = find(a);
  }
  /// True if the kernel yields a result of the op, be it in another shape.
  bool isYielded(const Work &work) {
    return llvm::any_of(body.getTerminator()->getOperands(), [&](Value value) {
      while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
          value.getDefiningOp()))
        value = value.getDefiningOp()->getOperand(0);
      return value.getDefiningOp() == work.op;
    });
  }
  /// The classes of the loops of one kind, outermost first.
  Dims loopsOf(Work &work, utils::IteratorType type) {
    Dims dims;
    for (auto [loop, iterator] :
         llvm::zip(work.loops, work.op.getIteratorTypesArray()))
      if (loop != kUnit && iterator == type)
        dims.push_back(find(loop));
    return dims;
  }
  Dims parallelLoops(Work &work) {
    return loopsOf(work, utils::IteratorType::parallel);
  }
  Dims allLoops(Work &work) {
    Dims dims;
    for (Dim loop : work.loops)
      if (loop != kUnit)
        dims.push_back(find(loop));
    return dims;
  }

  Block &body;
  std::vector<Dim> parents;
  DenseMap<Value, Source> sources;
  DenseMap<Value, Dims> dims;
  std::vector<Work> works;
  /// False with a constant too large to be cloned, or with more to do than to
  /// find elements.
  bool isView = true;
};

} // namespace

static bool haveSameMembers(Dims a, Dims b) {
  llvm::sort(a);
  llvm::sort(b);
  return a == b;
}

/// True if computing an element again costs about as much as reading it.
static bool isCheap(linalg::LinalgOp op) {
  Block *block = op.getBlock();
  if (block->getOperations().size() > 4)
    return false;
  return llvm::all_of(block->without_terminator(), [](Operation &inner) {
    return isa<arith::ArithDialect>(inner.getDialect());
  });
}

bool Classifier::readsComputedByExtract(Operation &op) {
  WalkResult result = op.walk([&](tensor::ExtractOp extract) {
    return sourceOf(extract.getTensor()) == Source::Computed
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

bool Classifier::visitReshape(Value source, Value result,
                              ArrayRef<ReassociationIndices> groups,
                              bool collapses) {
  auto many =
      cast<RankedTensorType>(collapses ? source.getType() : result.getType());
  auto few =
      cast<RankedTensorType>(collapses ? result.getType() : source.getType());
  Source from = sourceOf(source);
  Dims &made = dims[result] =
      freshDims(cast<RankedTensorType>(result.getType()).getShape());
  bool mixes = false;
  for (auto [fewDim, group] : llvm::enumerate(groups)) {
    SmallVector<int64_t> wide;
    for (int64_t dim : group)
      if (many.getDimSize(dim) != 1)
        wide.push_back(dim);
    mixes |= wide.size() > 1;
    // Rows of the one shape are no rows of the other.
    if (wide.size() > 1 && from == Source::Computed)
      return false;
    if (wide.size() != 1 || few.getDimSize(fewDim) == 1 ||
        from != Source::Computed)
      continue;
    const Dims &given = dims[source];
    unite(given[collapses ? wide.front() : fewDim],
          made[collapses ? fewDim : wide.front()]);
  }
  sources[result] =
      from == Source::Argument && mixes && collapses ? Source::Reshaped : from;
  return true;
}

bool Classifier::visitLinalg(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || readsComputedByExtract(*op))
    return false;
  bool constant = op.getNumReductionLoops() == 0 && isCheap(op);
  for (OpOperand *input : op.getDpsInputOperands())
    if (isa<RankedTensorType>(input->get().getType()))
      constant &= sourceOf(input->get()) == Source::Constant;
  if (isa<linalg::FillOp>(op) || constant) {
    for (Value result : op->getResults())
      sources[result] = Source::Constant;
    return true;
  }

  Work work{op, freshDims(op.getStaticLoopRanges())};
  work.reduces = op.getNumReductionLoops() > 0;
  // Rows that no input has: data says which row each element goes to, and none
  // is done before the last element was seen.
  for (unsigned loop = 0; work.reduces && loop < work.loops.size(); ++loop)
    if (work.loops[loop] != kUnit &&
        op.getIteratorTypesArray()[loop] == utils::IteratorType::parallel &&
        llvm::none_of(op.getDpsInputOperands(), [&](OpOperand *input) {
          return op.getMatchingIndexingMap(input).isFunctionOfDim(loop);
        }))
      return false;
  if (linalg::isaContractionOpInterface(op)) {
    FailureOr<linalg::ContractionDimensions> sides =
        linalg::inferContractionDims(op);
    work.product = succeeded(sides) && !sides->m.empty() && !sides->n.empty();
  }
  auto uniteWith = [&](AffineMap map, const Dims &tensor) {
    for (auto [expr, dim] : llvm::zip(map.getResults(), tensor)) {
      if (dim == kUnit)
        continue;
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop || work.loops[loop.getPosition()] == kUnit)
        return false;
      unite(work.loops[loop.getPosition()], dim);
    }
    return true;
  };
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value tensor = input->get();
    if (!isa<RankedTensorType>(tensor.getType()))
      continue;
    if (sourceOf(tensor) == Source::Computed &&
        !uniteWith(op.getMatchingIndexingMap(input), dims[tensor]))
      return false;
    // A product packs its operands; others would find every element by
    // divisions.
    if (sourceOf(tensor) == Source::Reshaped && !work.product)
      return false;
  }
  for (auto [result, init] :
       llvm::zip(op->getResults(), op.getDpsInitsMutable())) {
    auto type = cast<RankedTensorType>(result.getType());
    if (sourceOf(init.get()) != Source::Constant)
      return false;
    sources[result] = Source::Computed;
    dims[result] = freshDims(type.getShape());
    if (!uniteWith(op.getMatchingIndexingMap(&init), dims[result]))
      return false;
  }
  works.push_back(std::move(work));
  return true;
}

bool Classifier::visit(Operation &op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return visitLinalg(linalgOp);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return visitReshape(expand.getSrc(), expand.getResult(),
                        expand.getReassociationIndices(), /*collapses=*/false);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return visitReshape(collapse.getSrc(), collapse.getResult(),
                        collapse.getReassociationIndices(), /*collapses=*/true);
  if (isa<tensor::EmptyOp>(op)) {
    sources[op.getResult(0)] = Source::Constant;
    return true;
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<ElementsAttr>(constant.getValue());
    bool small = !elements || elements.isSplat() ||
                 elements.getNumElements() <= kMaxClonedElements;
    sources[constant] = small ? Source::Constant : Source::Argument;
    isView &= small;
    return true;
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    sources[slice.getResult()] = sourceOf(slice.getSource());
    return sourceOf(slice.getSource()) != Source::Computed;
  }
  // Elements of an argument or the padding, chosen where they are read.
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    sources[pad.getResult()] = Source::Argument;
    isView = false;
    return sourceOf(pad.getSource()) != Source::Computed;
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return sourceOf(extract.getTensor()) != Source::Computed;
  // On scalars.
  return isa<tensor::DimOp>(op) ||
         (isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) &&
          llvm::none_of(op.getResultTypes(), llvm::IsaPred<TensorType>));
}

/// True if one pointer and strides describe the tensor, as products want their
/// operands.
bool Classifier::isStridedArgument(Value tensor) {
  // Behind a collapse, memory must be contiguous.
  bool contiguous = false;
  while (Operation *op = tensor.getDefiningOp()) {
    if (isa<tensor::CollapseShapeOp>(op))
      contiguous = true;
    else if (!isa<tensor::ExpandShapeOp, tensor::ExtractSliceOp>(op) ||
             (contiguous && isa<tensor::ExtractSliceOp>(op)))
      return false;
    tensor = op->getOperand(0);
  }
  return true;
}

KernelClass::Kind Classifier::classifyProduct(Work &product) {
  for (Value input : product.op.getDpsInputs())
    if (!isStridedArgument(input))
      return KernelClass::Kind::Other;
  Dims space = parallelLoops(product);
  for (Work &work : works)
    if (work.op != product.op && (work.reduces || allLoops(work) != space))
      return KernelClass::Kind::Other;
  return KernelClass::Kind::Product;
}

KernelClass::Kind Classifier::classifyRows() {
  auto first =
      llvm::find_if(works, [](const Work &work) { return work.reduces; });
  Dims space = allLoops(*first), rows = parallelLoops(*first);
  bool rowsFirst = !rows.empty(), feedsOne = true, behind = false;
  for (Work &work : works) {
    Dims loops = allLoops(work);
    if (work.reduces && !haveSameMembers(parallelLoops(work), rows))
      return KernelClass::Kind::Other;
    if (!llvm::all_of(rows,
                      [&](Dim row) { return llvm::is_contained(loops, row); }))
      return KernelClass::Kind::Other;
    feedsOne &= !(work.reduces && behind);
    behind |= work.reduces;
    if (loops.size() == rows.size())
      continue;
    Dims lead(loops.begin(), loops.begin() + rows.size());
    rowsFirst &= haveSameMembers(lead, rows);
    feedsOne &= haveSameMembers(loops, space) &&
                (work.reduces || !(behind || isYielded(work)));
  }
  // Otherwise one pass over memory as it lies, with nothing to keep but the
  // rows.
  return rowsFirst || feedsOne ? KernelClass::Kind::Rows
                               : KernelClass::Kind::Other;
}

KernelClass::Kind Classifier::classifyWork() {
  Work *product = nullptr;
  bool reduces = false;
  for (Work &work : works) {
    // One class twice: elements of different rows meet.
    Dims loops = allLoops(work);
    llvm::SmallSetVector<Dim, 4> distinct(loops.begin(), loops.end());
    if (distinct.size() != loops.size())
      return KernelClass::Kind::Other;
    if (work.product && product)
      return KernelClass::Kind::Other;
    if (work.product)
      product = &work;
    reduces |= work.reduces;
  }
  if (product)
    return classifyProduct(*product);
  if (reduces)
    return classifyRows();
  Dims space = allLoops(works.front());
  for (Work &work : works)
    if (!haveSameMembers(allLoops(work), space))
      return KernelClass::Kind::Other;
  return KernelClass::Kind::Elementwise;
}

KernelClass Classifier::run() {
  KernelClass result;
  bool known = true;
  for (Operation &op : body.without_terminator())
    known = known && visit(op);
  result.numOps = works.size();
  if (!known)
    return result;
  if (!works.empty()) {
    result.kind = classifyWork();
    return result;
  }
  bool constant = true, view = isView;
  for (Value value : body.getTerminator()->getOperands()) {
    constant &= sourceOf(value) == Source::Constant;
    view &= sourceOf(value) != Source::Constant;
  }
  if (constant &&
      llvm::none_of(body.getArgumentTypes(), llvm::IsaPred<TensorType>))
    result.kind = KernelClass::Kind::Constant;
  else if (view)
    result.kind = KernelClass::Kind::View;
  return result;
}

KernelClass oneflow::comm::classifyKernel(KernelOp kernel) {
  return Classifier(kernel).run();
}
