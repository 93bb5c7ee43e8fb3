//===- Accesses.cpp - what a node reads, and at which index ---------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows the tensors that a node recomputes back to arguments and kept
// tensors, composing index expressions on the way. Mirrors what ValueEmitter
// emits; an expression that is not affine becomes null and stops fusion along
// that dim, never correctness.
//
//===----------------------------------------------------------------------===//

#include "KernelGraph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <set>

using namespace mlir;

namespace oneflow::cpu {

using Indices = SmallVector<AffineExpr, 4>;

class AccessCollector {
public:
  AccessCollector(KernelGraph &graph, Node &node)
      : graph(graph), node(node), context(graph.kernel.getContext()) {}

  void run() {
    Indices dims;
    for (auto [dim, extent] : llvm::enumerate(node.domain))
      dims.push_back(extent.isOne() ? getAffineConstantExpr(0, context)
                                    : getAffineDimExpr(dim, context));
    if (node.reduction)
      return visitOperands(node.reduction, dims);
    visitDefinition(node.results.front(), dims);
  }

private:
  void visit(Value value, const Indices &indices) {
    if (isa<BlockArgument>(value) || graph.isKept(value)) {
      SmallVector<const void *> key{value.getAsOpaquePointer()};
      for (AffineExpr expr : indices)
        key.push_back(expr ? expr.getAsOpaquePointer() : nullptr);
      if (leaves.insert(key).second)
        node.accesses.push_back({value, indices});
      return;
    }
    visitDefinition(value, indices);
  }

  void visitDefinition(Value value, const Indices &indices) {
    Operation *op = value.getDefiningOp();
    if (!op) { // a returned argument
      node.accesses.push_back({value, indices});
      return;
    }
    // The elements of a constant are memory too, where they are not all one.
    DenseElementsAttr elements;
    if (matchPattern(value, m_Constant(&elements)) && !elements.isSplat()) {
      node.accesses.push_back({value, indices});
      return;
    }
    SmallVector<const void *> key{op};
    for (AffineExpr expr : indices)
      key.push_back(expr ? expr.getAsOpaquePointer() : nullptr);
    if (!seen.insert(key).second)
      return;
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      graph.inlined[&node].insert(op);
      // A pointwise op's result map permutes the dims; undo it.
      OpOperand *init =
          generic.getDpsInitOperand(cast<OpResult>(value).getResultNumber());
      AffineMap map = generic.getMatchingIndexingMap(init);
      Indices dims(map.getNumDims());
      for (auto [expr, index] : llvm::zip(map.getResults(), indices))
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          dims[dim.getPosition()] = index;
      return visitOperands(generic, dims);
    }
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      llvm::SmallBitVector dropped = slice.getDroppedDims();
      Indices source;
      unsigned next = 0;
      for (auto [dim, offset, stride] :
           llvm::zip(llvm::seq<unsigned>(0, slice.getSourceType().getRank()),
                     slice.getMixedOffsets(), slice.getMixedStrides())) {
        std::optional<int64_t> o = getConstantIntValue(offset),
                               s = getConstantIntValue(stride);
        AffineExpr index = dropped.test(dim) ? getAffineConstantExpr(0, context)
                                             : indices[next++];
        source.push_back(index && o && s ? index * *s + *o : AffineExpr());
      }
      return visit(slice.getSource(), source);
    }
    if (auto castOp = dyn_cast<tensor::CastOp>(op))
      return visit(castOp.getSource(), indices);
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
      Extents shape = graph.shapeOf(collapse.getSrc());
      Indices source(shape.size());
      for (auto [index, group] :
           llvm::zip(indices, collapse.getReassociationIndices())) {
        int64_t wide = countWide(shape, group);
        for (int64_t dim : group)
          source[dim] = shape[dim].isOne() ? getAffineConstantExpr(0, context)
                        : wide == 1        ? index
                                           : AffineExpr();
      }
      return visit(collapse.getSrc(), source);
    }
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
      Extents shape = graph.shapeOf(value);
      Indices source;
      for (const auto &group : expand.getReassociationIndices()) {
        int64_t wide = countWide(shape, group);
        AffineExpr index = getAffineConstantExpr(0, context);
        if (wide > 1)
          index = AffineExpr();
        else if (wide == 1)
          for (int64_t dim : group)
            if (!shape[dim].isOne())
              index = indices[dim];
        source.push_back(index);
      }
      return visit(expand.getSrc(), source);
    }
    // Others read their tensors at indices that are not followed.
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
        visit(operand, Indices(type.getRank()));
  }

  static int64_t countWide(const Extents &shape, ArrayRef<int64_t> group) {
    return llvm::count_if(group,
                          [&](int64_t dim) { return !shape[dim].isOne(); });
  }

  AffineExpr compose(AffineExpr expr, const Indices &dims) {
    SmallVector<AffineExpr> known(dims.size());
    for (auto [dim, index] : llvm::enumerate(dims)) {
      if (!index && expr.isFunctionOfDim(dim))
        return AffineExpr();
      known[dim] = index ? index : getAffineConstantExpr(0, context);
    }
    return simplifyAffineExpr(expr.replaceDims(known), node.domain.size(), 0);
  }

  void visitOperands(linalg::GenericOp generic, const Indices &dims) {
    for (OpOperand &operand : generic->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()) ||
          !generic.payloadUsesValueFromOperand(&operand))
        continue;
      Indices indices;
      for (AffineExpr expr :
           generic.getMatchingIndexingMap(&operand).getResults())
        indices.push_back(compose(expr, dims));
      visit(operand.get(), indices);
    }
    generic.getBody()->walk([&](tensor::ExtractOp extract) {
      visit(extract.getTensor(),
            Indices(extract.getTensor().getType().getRank()));
    });
  }

  KernelGraph &graph;
  Node &node;
  MLIRContext *context;
  std::set<SmallVector<const void *>> seen, leaves;
};

void KernelGraph::collectAccesses(Node &node) {
  AccessCollector(*this, node).run();
}

bool isStridedView(const KernelGraph &graph, Value value) {
  bool contiguous = true; // asked for by a collapse_shape above
  bool needsContiguous = false;
  for (;;) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return panelOfArgument(argument).width == 0 &&
             (contiguous || !needsContiguous);
    if (graph.isKept(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (!isPointwise(generic))
        return true; // will be kept
      auto yield = cast<linalg::YieldOp>(generic.getBody()->getTerminator());
      auto yielded = dyn_cast<BlockArgument>(yield.getOperand(0));
      if (generic->getNumResults() != 1 || generic.getNumDpsInputs() != 1 ||
          !yielded || yielded.getOwner() != generic.getBody() ||
          yielded.getArgNumber() != 0 || needsContiguous ||
          !generic.getIndexingMapsArray()[0].isProjectedPermutation() ||
          !isa<RankedTensorType>(generic.getOperand(0).getType()))
        return false;
      value = generic.getOperand(0);
    } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      if (needsContiguous)
        return false;
      value = slice.getSource();
    } else if (isa<tensor::CastOp, tensor::ExpandShapeOp>(op)) {
      value = op->getOperand(0);
    } else if (isa<tensor::CollapseShapeOp>(op)) {
      needsContiguous = true;
      value = op->getOperand(0);
    } else {
      return false;
    }
  }
}

} // namespace oneflow::cpu
