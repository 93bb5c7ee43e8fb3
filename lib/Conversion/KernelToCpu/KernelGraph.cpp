//===- KernelGraph.cpp - kept tensors, extents and stages -----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which tensors of a kernel are kept in memory and where. The accesses
// of the nodes are found in Accesses.cpp, the stages in Stages.cpp.
//
//===----------------------------------------------------------------------===//

#include "KernelGraph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace oneflow::cpu {

Extent Extent::operator*(const Extent &other) const {
  Extent product{factor * other.factor, symbols};
  product.symbols.append(other.symbols);
  llvm::sort(product.symbols);
  return product;
}

bool isPointwise(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0;
}

/// Up to so many rows, a product with a transposed B is made of dot products.
constexpr int64_t kFewRows = 4;

static PanelLayout panelFrom(Attribute width, Attribute dim, Type type) {
  PanelLayout layout;
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto panel = dyn_cast_or_null<IntegerAttr>(width);
  if (!tensor || !panel)
    return layout;
  layout.width = panel.getInt();
  layout.dim = tensor.getRank() - 1;
  if (auto panelDim = dyn_cast_or_null<IntegerAttr>(dim))
    layout.dim = panelDim.getInt();
  return layout;
}

PanelLayout panelOfArgument(BlockArgument argument) {
  auto kernel = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  unsigned n = argument.getArgNumber();
  return panelFrom(kernel.getArgAttr(n, "oneflow.panel"),
                   kernel.getArgAttr(n, "oneflow.panel_dim"),
                   argument.getType());
}

PanelLayout panelOfResult(func::FuncOp kernel, unsigned result) {
  return panelFrom(kernel.getResultAttr(result, "oneflow.panel"),
                   kernel.getResultAttr(result, "oneflow.panel_dim"),
                   kernel.getResultTypes()[result]);
}

std::optional<Contraction> matchContraction(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() == 0 || !op.hasPureTensorSemantics())
    return std::nullopt;
  Block &body = *op.getBody();
  if (!llvm::hasNItems(body, 3))
    return std::nullopt;
  auto mul = dyn_cast<arith::MulFOp>(body.front());
  auto add = dyn_cast<arith::AddFOp>(*std::next(body.begin()));
  auto yield = cast<linalg::YieldOp>(body.getTerminator());
  if (!mul || !add || yield.getOperand(0) != add.getResult())
    return std::nullopt;
  Value in0 = body.getArgument(0), in1 = body.getArgument(1),
        acc = body.getArgument(2);
  bool multiplies = (mul.getLhs() == in0 && mul.getRhs() == in1) ||
                    (mul.getLhs() == in1 && mul.getRhs() == in0);
  bool sums = (add.getLhs() == acc && add.getRhs() == mul.getResult()) ||
              (add.getRhs() == acc && add.getLhs() == mul.getResult());
  if (!multiplies || !sums || !(acc.getType().isF32() || acc.getType().isF64()))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!maps[2].isProjectedPermutation() || maps[2].getNumResults() == 0)
    return std::nullopt;
  auto uses = [&](unsigned map, unsigned dim) {
    return maps[map].isFunctionOfDim(dim);
  };
  unsigned last =
      cast<AffineDimExpr>(maps[2].getResults().back()).getPosition();
  Contraction dims;
  if (uses(0, last) && !uses(1, last))
    std::swap(dims.a, dims.b);
  // B may be read at any affine index, as the input of a convolution is: it is
  // packed anyway. A is read in place.
  if (!maps[dims.a].isProjectedPermutation())
    return std::nullopt;
  for (unsigned dim = 0; dim < maps[0].getNumDims(); ++dim) {
    bool inA = uses(dims.a, dim), inB = uses(dims.b, dim);
    if (uses(2, dim)) {
      if (inA && inB)
        dims.batch.push_back(dim);
      else if (inA)
        dims.m.push_back(dim);
      else if (inB)
        dims.n.push_back(dim);
      else
        return std::nullopt;
    } else if (inA && inB) {
      dims.k.push_back(dim);
    } else {
      return std::nullopt;
    }
  }
  if (dims.m.empty() || dims.n.empty() || dims.k.empty() ||
      !llvm::is_contained(dims.n, last))
    return std::nullopt;
  // With few rows and both operands contiguous along k, dot products read each
  // element of B once; packing would touch it three times.
  auto endsInK = [&](AffineMap map) {
    auto end = dyn_cast<AffineDimExpr>(map.getResults().back());
    return end && llvm::is_contained(dims.k, end.getPosition());
  };
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  int64_t rows = 1;
  for (unsigned dim : dims.m)
    rows =
        ShapedType::isDynamic(ranges[dim]) ? kFewRows + 1 : rows * ranges[dim];
  if (rows <= kFewRows && endsInK(maps[0]) && endsInK(maps[1]))
    return std::nullopt;
  // The dim that is last in the result is the one that vectors run along.
  llvm::erase(dims.n, last);
  dims.n.push_back(last);
  return dims;
}

unsigned KernelGraph::symbolId(Value value) {
  auto [it, inserted] = symbolIds.try_emplace(value, symbols.size());
  if (inserted)
    symbols.push_back(value);
  return it->second;
}

Extent KernelGraph::extentOf(Value index) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return Extent{constant.getSExtValue(), {}};
  if (auto dim = index.getDefiningOp<tensor::DimOp>())
    if (std::optional<int64_t> position = dim.getConstantIndex())
      return shapeOf(dim.getSource())[*position];
  if (auto mul = index.getDefiningOp<arith::MulIOp>())
    return extentOf(mul.getLhs()) * extentOf(mul.getRhs());
  return Extent{1, {symbolId(index)}};
}

std::optional<int64_t> KernelGraph::boundOf(const Extent &extent) {
  int64_t bound = extent.factor;
  for (unsigned symbol : extent.symbols) {
    auto it = symbolBounds.find(symbol);
    if (it == symbolBounds.end())
      return std::nullopt;
    bound *= it->second;
  }
  return bound;
}

Extents KernelGraph::shapeOf(Value tensor) {
  auto it = shapes.find(tensor);
  if (it != shapes.end())
    return it->second;
  auto type = cast<RankedTensorType>(tensor.getType());
  Extents shape(type.getRank());
  for (auto [extent, size] : llvm::zip(shape, type.getShape()))
    extent.factor = ShapedType::isDynamic(size) ? 1 : size;
  auto setDynamic = [&](unsigned dim, Extent extent) {
    if (type.isDynamicDim(dim))
      shape[dim] = std::move(extent);
  };
  Operation *op = tensor.getDefiningOp();
  if (type.hasStaticShape() || !op) {
    // Arguments with dynamic dims were entered by analyze().
  } else if (auto generic = dyn_cast<linalg::LinalgOp>(op)) {
    OpOperand *init =
        generic.getDpsInitOperand(cast<OpResult>(tensor).getResultNumber());
    Extents from = shapeOf(init->get());
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      setDynamic(dim, from[dim]);
  } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    shape = shapeOf(insert.getDest());
  } else if (auto pad = dyn_cast<tensor::PadOp>(op);
             pad &&
             llvm::all_of(llvm::seq<int64_t>(0, type.getRank()),
                          [&](int64_t dim) {
                            return !type.isDynamicDim(dim) ||
                                   (isZeroInteger(pad.getMixedLowPad()[dim]) &&
                                    isZeroInteger(pad.getMixedHighPad()[dim]));
                          })) {
    Extents from = shapeOf(pad.getSource());
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      setDynamic(dim, from[dim]);
  } else if (auto castOp = dyn_cast<tensor::CastOp>(op)) {
    Extents from = shapeOf(castOp.getSource());
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      setDynamic(dim, from[dim]);
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    Extents from = shapeOf(collapse.getSrc());
    for (auto [dim, group] :
         llvm::enumerate(collapse.getReassociationIndices())) {
      Extent product;
      for (int64_t source : group)
        product = product * from[source];
      setDynamic(dim, product);
    }
  } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      if (type.isDynamicDim(dim))
        shape[dim] = extentOf(empty.getDynamicSize(dim));
  } else {
    // The interface states the extents as values; those that are not scalars of
    // the kernel are cloned where they are needed.
    SmallVector<OpFoldResult> sizes;
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      llvm::SmallBitVector dropped = slice.getDroppedDims();
      for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes()))
        if (!dropped.test(dim))
          sizes.push_back(size);
    } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
      sizes = expand.getMixedOutputShape();
    } else if (auto reshape = dyn_cast<tensor::ReshapeOp>(op)) {
      if (auto elements =
              reshape.getShape().getDefiningOp<tensor::FromElementsOp>())
        for (Value element : elements.getElements()) {
          if (auto castOp = element.getDefiningOp<arith::IndexCastOp>())
            element = castOp.getIn();
          sizes.push_back(element);
        }
    } else if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
      unsigned next = 0;
      for (unsigned dim = 0; dim < shape.size(); ++dim)
        sizes.push_back(type.isDynamicDim(dim)
                            ? OpFoldResult(splat.getDynamicSizes()[next++])
                            : OpFoldResult(IntegerAttr()));
    }
    for (unsigned dim = 0; dim < shape.size(); ++dim) {
      if (!type.isDynamicDim(dim))
        continue;
      if (sizes.empty())
        shape[dim] = Extent{1, {symbolId(tensor)}}; // refused by collectKept
      else if (auto value = dyn_cast<Value>(sizes[dim]))
        shape[dim] = extentOf(value);
    }
  }
  shapes[tensor] = shape;
  return shape;
}

Stage *KernelGraph::stageOf(Value kept) {
  Node *node = keptBy.lookup(kept);
  return node ? stageOfNode.lookup(node) : nullptr;
}

bool KernelGraph::hasDependentStages() const {
  return llvm::any_of(
      stages, [](const auto &stage) { return !stage->dependsOn.empty(); });
}

LogicalResult KernelGraph::analyze() {
  Block &body = kernel.getBody().front();
  SmallVector<BlockArgument> scalars;
  for (BlockArgument argument : body.getArguments())
    if (argument.getType().isIndex())
      scalars.push_back(argument);
  auto enter = [&](Type type, Attribute extentsAttr, Attribute boundsAttr,
                   Value value, StringRef what) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return kernel.emitError()
             << what << ": expected a ranked tensor, got " << type;
    Type element = tensor.getElementType();
    if (!element.isIntOrFloat() || isa<ComplexType>(element))
      return kernel.emitError()
             << what << ": element type " << element << " is not supported";
    if (tensor.hasStaticShape())
      return success();
    auto extents = dyn_cast_or_null<DenseI64ArrayAttr>(extentsAttr);
    if (!extents || extents.size() != tensor.getRank())
      return kernel.emitError()
             << what << ": expected `oneflow.extents` with one number per dim";
    auto bounds = dyn_cast_or_null<DenseI64ArrayAttr>(boundsAttr);
    Extents shape(tensor.getRank());
    for (auto [dim, size] : llvm::enumerate(tensor.getShape())) {
      if (!ShapedType::isDynamic(size)) {
        shape[dim].factor = size;
        continue;
      }
      int64_t number = extents[dim];
      if (number < 0 || number >= static_cast<int64_t>(scalars.size()))
        return kernel.emitError()
               << what << ": dim " << dim << " is dynamic; expected the number "
               << "of a scalar below " << scalars.size() << ", got " << number;
      unsigned id = symbolId(scalars[number]);
      shape[dim].symbols.push_back(id);
      if (bounds && static_cast<size_t>(bounds.size()) > dim && bounds[dim] > 0)
        symbolBounds[id] = bounds[dim];
    }
    if (value)
      shapes[value] = shape;
    return success();
  };
  auto checkPanel = [&](Type type, Attribute width, Attribute dim,
                        StringRef what) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!width || !tensor)
      return success();
    PanelLayout panel = panelFrom(width, dim, type);
    if (tensor.getRank() != 2 || panel.width <= 0 || panel.dim > 1)
      return kernel.emitError()
             << what
             << ": panels need rank 2, a width above zero and dim 0 or 1, "
             << "got rank " << tensor.getRank() << ", width " << panel.width
             << " and dim " << panel.dim;
    return success();
  };
  for (BlockArgument argument : body.getArguments()) {
    unsigned n = argument.getArgNumber();
    if (failed(checkPanel(argument.getType(),
                          kernel.getArgAttr(n, "oneflow.panel"),
                          kernel.getArgAttr(n, "oneflow.panel_dim"),
                          "argument " + std::to_string(n))))
      return failure();
  }
  for (auto [n, type] : llvm::enumerate(kernel.getResultTypes()))
    if (failed(checkPanel(type, kernel.getResultAttr(n, "oneflow.panel"),
                          kernel.getResultAttr(n, "oneflow.panel_dim"),
                          "result " + std::to_string(n))))
      return failure();
  for (BlockArgument argument : body.getArguments()) {
    if (argument.getType().isIndex())
      continue;
    unsigned n = argument.getArgNumber();
    if (failed(enter(argument.getType(),
                     kernel.getArgAttr(n, "oneflow.extents"),
                     kernel.getArgAttr(n, "oneflow.bounds"), argument,
                     "argument " + std::to_string(n))))
      return failure();
  }
  for (auto [n, type] : llvm::enumerate(kernel.getResultTypes()))
    if (failed(enter(type, kernel.getResultAttr(n, "oneflow.extents"),
                     kernel.getResultAttr(n, "oneflow.bounds"), Value(),
                     "result " + std::to_string(n))))
      return failure();

  // Each round either succeeds or bars one more value from being kept.
  for (;;) {
    size_t barred = neverKeep.size(), extra = keepExtra.size();
    if (failed(build()))
      return failure();
    if (neverKeep.size() == barred && keepExtra.size() == extra)
      return success();
  }
}

LogicalResult KernelGraph::build() {
  nodes.clear();
  stages.clear();
  keptBy.clear();
  storage.clear();
  stageOfNode.clear();
  inlined.clear();
  if (failed(collectKept()))
    return failure();
  for (auto &node : nodes)
    collectAccesses(*node);
  SmallVector<Value> shared;
  findExpensiveShared(shared);
  if (!shared.empty()) {
    keepExtra.insert(shared.begin(), shared.end());
    return success(); // the next round keeps them
  }
  formStages();
  return chooseStorage();
}

Node &KernelGraph::addNode(Location loc) {
  nodes.push_back(std::make_unique<Node>(loc));
  nodes.back()->order = nodes.size() - 1;
  return *nodes.back();
}

LogicalResult KernelGraph::addReduction(linalg::GenericOp op) {
  Node &node = addNode(op.getLoc());
  node.reduction = op;
  node.contraction = matchContraction(op);
  node.scatter = matchScatter(op);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  node.domain.resize(op.getNumLoops());
  SmallVector<bool> known(op.getNumLoops(), false);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    Extents shape = shapeOf(operand.get());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [extent, expr] : llvm::zip(shape, map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        if (!known[dim.getPosition()] || extent.isStatic()) {
          known[dim.getPosition()] = true;
          node.domain[dim.getPosition()] = extent;
        }
  }
  if (llvm::is_contained(known, false))
    return op.emitOpError("has an iteration dim that no operand gives");
  for (utils::IteratorType type : op.getIteratorTypesArray())
    node.reduced.push_back(type == utils::IteratorType::reduction);
  AffineMap outMap = maps[op.getNumDpsInputs()];
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    if (maps[op.getNumDpsInputs() + i] != outMap)
      return op.emitOpError("reduces with results of unlike indexing maps");
  for (AffineExpr expr : outMap.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (!dim && !(constant && constant.getValue() == 0))
      return op.emitOpError("has a result indexed by more than plain dims");
    if (dim && node.reduced[dim.getPosition()])
      return op.emitOpError("has a result indexed by a reduction dim");
    node.outDims.push_back(dim ? static_cast<int>(dim.getPosition()) : -1);
  }
  for (Value result : op.getResults()) {
    node.results.push_back(result);
    node.returned.push_back(-1);
    keptBy[result] = &node;
  }
  return success();
}

LogicalResult KernelGraph::collectKept() {
  Block &body = kernel.getBody().front();
  llvm::DenseMap<Value, unsigned> returnedAt;
  auto returnOp = cast<func::ReturnOp>(body.getTerminator());
  for (auto [n, value] : llvm::enumerate(returnOp.getOperands()))
    if (!isa<BlockArgument>(value))
      returnedAt.try_emplace(value, n);

  llvm::DenseSet<Value> operandsOfContractions;
  for (Operation &op : body)
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      if (auto contraction = matchContraction(generic)) {
        Value a = generic.getDpsInputOperand(contraction->a)->get();
        if (!isStridedView(*this, a))
          operandsOfContractions.insert(a);
      }

  auto addPointwise = [&](Value value, Operation *op) {
    Node &node = addNode(op ? op->getLoc() : kernel.getLoc());
    node.results.push_back(value);
    node.returned.push_back(-1);
    node.domain = shapeOf(value);
    node.reduced.assign(node.domain.size(), false);
    for (unsigned dim = 0; dim < node.domain.size(); ++dim)
      node.outDims.push_back(dim);
    return &node;
  };
  for (Operation &op : body) {
    if (isa<func::ReturnOp>(op))
      break;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic && isa<linalg::LinalgOp>(op))
      return op.emitOpError("could not be put into generic form");
    if (generic && !isPointwise(generic)) {
      if (failed(addReduction(generic)))
        return failure();
      continue;
    }
    if (!isa<linalg::LinalgOp>(op) &&
        !isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) &&
        !isa<tensor::EmptyOp, tensor::DimOp, tensor::ExtractSliceOp,
             tensor::InsertSliceOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp, tensor::ReshapeOp, tensor::CastOp,
             tensor::PadOp, tensor::ConcatOp, tensor::SplatOp,
             tensor::FromElementsOp, tensor::ExtractOp>(op))
      return op.emitOpError("is not supported in a kernel");
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      if (isa<TensorType>(constant.getType()) &&
          !isa<DenseElementsAttr>(constant.getValue()))
        return op.emitOpError("expected dense elements");
    if (isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) &&
        !isa<arith::ConstantOp>(op) &&
        llvm::any_of(op.getResultTypes(),
                     [](Type type) { return isa<TensorType>(type); }))
      return op.emitOpError("works on tensors; expected a linalg.generic");
    for (Value result : op.getResults())
      if (isa<RankedTensorType>(result.getType()) &&
          (returnedAt.count(result) ||
           ((operandsOfContractions.contains(result) ||
             keepExtra.contains(result)) &&
            !neverKeep.contains(result))))
        keptBy[result] = addPointwise(result, &op);
  }
  for (auto [value, n] : returnedAt) {
    Node *node = keptBy.lookup(value);
    for (auto [i, result] : llvm::enumerate(node->results))
      if (result == value)
        node->returned[i] = n;
  }
  // What is returned and not computed here, or returned twice, is copied.
  for (auto [n, value] : llvm::enumerate(returnOp.getOperands()))
    if (isa<BlockArgument>(value) || returnedAt[value] != n)
      addPointwise(value, nullptr)->returned[0] = n;
  return success();
}

static bool isExpensive(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return false;
  auto result = generic.walk([](Operation *inner) {
    if (isa<math::ExpOp, math::Exp2Op, math::ExpM1Op, math::LogOp, math::Log2Op,
            math::Log10Op, math::Log1pOp, math::TanhOp, math::ErfOp,
            math::PowFOp, math::SinOp, math::CosOp, math::TanOp, math::AtanOp,
            math::Atan2Op>(inner))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

void KernelGraph::findExpensiveShared(SmallVectorImpl<Value> &values) {
  for (Operation &op : kernel.getBody().front()) {
    if (op.getNumResults() != 1 || !isExpensive(&op))
      continue;
    Value result = op.getResult(0);
    if (isKept(result) || neverKeep.contains(result))
      continue;
    unsigned readers = 0;
    bool reduces = false;
    for (auto &[node, ops] : inlined)
      if (ops.contains(&op)) {
        ++readers;
        reduces |= static_cast<bool>(node->reduction);
      }
    if (readers > 1 && reduces)
      values.push_back(result);
  }
}

std::optional<int64_t> KernelGraph::rowElements(const Node &node) {
  Extent elements;
  for (int dim : node.outDims)
    if (dim >= 0 &&
        !llvm::is_contained(node.rowDims, static_cast<unsigned>(dim)))
      elements = elements * node.domain[dim];
  return boundOf(elements);
}

LogicalResult KernelGraph::chooseStorage() {
  int64_t stack = 0;
  for (auto &node : nodes) {
    Stage *stage = stageOfNode[node.get()];
    bool local = true;
    for (auto &reader : nodes)
      if (stageOfNode[reader.get()] != stage)
        for (Access &access : reader->accesses)
          local &= keptBy.lookup(access.tensor) != node.get();
    for (auto [result, returned] : llvm::zip(node->results, node->returned)) {
      if (returned >= 0)
        continue;
      std::optional<int64_t> perRow = rowElements(*node);
      auto type = cast<RankedTensorType>(result.getType());
      int64_t bytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
      // The register tile of a contraction serves as its row storage.
      if (local && (stage->kind == Stage::Kind::Contraction ||
                    (!stage->lanes && perRow && *perRow == 1))) {
        storage[result] = Storage::Register;
        continue;
      }
      int64_t lanes = stage->lanes ? kLanes : 1;
      if (local && perRow && stack + *perRow * lanes * bytes <= kStackBudget) {
        stack += (*perRow * lanes * bytes + 63) / 64 * 64;
        storage[result] = Storage::RowStack;
        continue;
      }
      Extent total;
      for (const Extent &extent : shapeOf(result))
        total = total * extent;
      std::optional<int64_t> bound = boundOf(total);
      if (!bound) {
        if (node->reduction || llvm::is_contained(neverKeep, result))
          return node->reduction
                     ? node->reduction.emitOpError(
                           "needs memory for an intermediate of dynamic size; "
                           "expected `oneflow.bounds` on the kernel's "
                           "arguments")
                     : kernel.emitError(
                           "needs memory for an intermediate of "
                           "dynamic size; expected `oneflow.bounds`");
        neverKeep.insert(result);
        return success();
      }
      if (!local && stack + *bound * bytes <= kStackBudget) {
        stack += (*bound * bytes + 63) / 64 * 64;
        storage[result] = Storage::Stack;
      } else {
        storage[result] = Storage::Workspace;
      }
    }
  }
  return success();
}

} // namespace oneflow::cpu
