//===- Scatter.cpp - sums into rows whose numbers are data ----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognizes a reduction that compares the number of its row with an index that
// it reads, and adds zero where they differ. Instead of every pair of row and
// index, the loops go through the indices and to the row that each one names.
// An item owns a range of rows and takes the indices in order, so the order of
// additions, and with it every bit, is the same for any number of threads.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace oneflow::cpu {

/// Every item reads all indices: no more items than threads need.
constexpr int64_t kMaxItems = 64;
/// Elements that an item should at least have, so that handing it out is cheap.
constexpr int64_t kItemElements = 8192;

/// The dim whose linalg.index `value` is, in any integer type.
static std::optional<unsigned> matchIndex(Value value) {
  if (auto castOp = value.getDefiningOp<arith::IndexCastOp>())
    value = castOp.getIn();
  if (auto index = value.getDefiningOp<linalg::IndexOp>())
    return static_cast<unsigned>(index.getDim());
  return std::nullopt;
}

std::optional<Scatter> matchScatter(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1 ||
      !op.hasPureTensorSemantics())
    return std::nullopt;
  Block &body = *op.getBody();
  Operation *add = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(add))
    return std::nullopt;
  Value accumulator = body.getArguments().back();
  unsigned addend = add->getOperand(0) == accumulator ? 1 : 0;
  auto select = add->getOperand(addend).getDefiningOp<arith::SelectOp>();
  if (add->getOperand(1 - addend) != accumulator || !select ||
      !(matchPattern(select.getFalseValue(), m_AnyZeroFloat()) ||
        matchPattern(select.getFalseValue(), m_Zero())))
    return std::nullopt;
  auto equal = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!equal || equal.getPredicate() != arith::CmpIPredicate::eq)
    return std::nullopt;
  auto index = dyn_cast<BlockArgument>(equal.getRhs());
  std::optional<unsigned> row = matchIndex(equal.getLhs());
  if (!row || !index || index == accumulator || index.getOwner() != &body)
    return std::nullopt;
  Scatter scatter{*row, index.getArgNumber()};
  // Nothing else may depend on the row, and the index on no result dim.
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  if (iterators[scatter.row] != utils::IteratorType::parallel)
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (unsigned input = 0; input < op.getNumDpsInputs(); ++input)
    if (maps[input].isFunctionOfDim(scatter.row))
      return std::nullopt;
  for (unsigned dim = 0; dim < iterators.size(); ++dim)
    if (iterators[dim] == utils::IteratorType::parallel &&
        maps[scatter.index].isFunctionOfDim(dim))
      return std::nullopt;
  if (llvm::count_if(body.getOps<linalg::IndexOp>(), [&](linalg::IndexOp use) {
        return use.getDim() == scatter.row;
      }) != 1)
    return std::nullopt;
  return scatter;
}

Value KernelEmitter::scatterRowsPerItem(Stage &stage) {
  Node &node = *stage.nodes.front();
  Extent inner;
  for (auto [dim, size] : llvm::enumerate(node.domain))
    if (!node.reduced[dim] && dim != node.scatter->row)
      inner = inner * size;
  Value enough = div(constant(kItemElements), max(extent(inner), constant(1)));
  Value rows = extent(node.domain[node.scatter->row]);
  return max(max(enough, ceilDiv(rows, kMaxItems)), constant(1));
}

Value KernelEmitter::scatterItems(Stage &stage) {
  Node &node = *stage.nodes.front();
  Value perItem = scatterRowsPerItem(stage);
  Value rows = extent(node.domain[node.scatter->row]);
  return div(add(rows, sub(perItem, constant(1))), perItem);
}

void KernelEmitter::emitScatter(Stage &stage, Value begin, Value end) {
  Node &node = *stage.nodes.front();
  linalg::GenericOp op = node.reduction;
  unsigned row = node.scatter->row;
  Value result = node.results.front();
  int returned = node.returned.front();
  const Binding binding =
      returned >= 0 ? resultBindings[returned] : bindings[result];
  Value perItem = scatterRowsPerItem(stage);
  Value first = mul(begin, perItem);
  Value last = min(mul(end, perItem), extent(node.domain[row]));

  SmallVector<unsigned> outer, inner, reduced;
  for (unsigned dim = 0; dim < node.domain.size(); ++dim)
    if (dim != row)
      (node.reduced[dim] ? reduced : dim < row ? outer : inner).push_back(dim);
  SmallVector<Value> dims(node.domain.size());
  nest(outer, node, dims, [&] {
    forEach(first, last, [&](Value index) {
      dims[row] = index;
      nest(inner, node, dims, [&] {
        SmallVector<Value> indices = outIndices(node, dims);
        store(at(op.getDpsInits().front(), indices), binding, indices);
      });
    });
  });

  OpOperand *indexInput = op.getDpsInputOperand(node.scatter->index);
  nest(reduced, node, dims, [&] {
    SmallVector<Value> place;
    for (AffineExpr expr : op.getMatchingIndexingMap(indexInput).getResults())
      place.push_back(affine(expr, dims));
    Value position = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                                at(indexInput->get(), place));
    // One unsigned comparison covers both ends.
    Value mine = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                       sub(position, first), sub(last, first));
    auto ifOp = scf::IfOp::create(b, loc, mine, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(ifOp.thenBlock()->getTerminator());
    memo.emplace_back();
    dims[row] = position;
    nest(outer, node, dims, [&] {
      nest(inner, node, dims, [&] {
        SmallVector<Value> indices = outIndices(node, dims);
        SmallVector<Value> sum = emitBody(op, dims, load(binding, indices));
        store(sum.front(), binding, indices);
      });
    });
    memo.pop_back();
  });
}

} // namespace oneflow::cpu
