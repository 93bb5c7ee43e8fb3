//===- KernelEmitter.cpp - the function around a kernel's stages ----------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sets up buffers, work items and the two functions of a kernel, and holds what
// all stages use: index arithmetic, memory accesses and loops.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace oneflow::cpu {

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

Value KernelEmitter::constant(int64_t value) {
  Value &known = extents[{value, {}}];
  if (!known)
    known = arith::ConstantIndexOp::create(prologue, loc, value);
  return known;
}

/// Constants made by folding would lie in the middle of loops; share them.
template <typename Op>
static Value fold(OpBuilder &b, Location loc, Value lhs, Value rhs,
                  const std::function<Value(int64_t)> &constant) {
  std::optional<int64_t> l = getConstantIntValue(lhs),
                         r = getConstantIntValue(rhs);
  if (l && r) {
    int64_t value = 0;
    if constexpr (std::is_same_v<Op, arith::AddIOp>)
      value = *l + *r;
    else if constexpr (std::is_same_v<Op, arith::SubIOp>)
      value = *l - *r;
    else if constexpr (std::is_same_v<Op, arith::MulIOp>)
      value = *l * *r;
    else if constexpr (std::is_same_v<Op, arith::DivUIOp>)
      value = *r ? *l / *r : 0;
    else if constexpr (std::is_same_v<Op, arith::RemUIOp>)
      value = *r ? *l % *r : 0;
    else if constexpr (std::is_same_v<Op, arith::MinSIOp>)
      value = std::min(*l, *r);
    else
      value = std::max(*l, *r);
    return constant(value);
  }
  if constexpr (std::is_same_v<Op, arith::AddIOp>) {
    if (l == 0)
      return rhs;
    if (r == 0)
      return lhs;
  }
  if constexpr (std::is_same_v<Op, arith::MulIOp>) {
    if (l == 0 || r == 0)
      return constant(0);
    if (l == 1)
      return rhs;
    if (r == 1)
      return lhs;
  }
  if constexpr (std::is_same_v<Op, arith::DivUIOp> ||
                std::is_same_v<Op, arith::RemUIOp>) {
    if (r == 1)
      return std::is_same_v<Op, arith::DivUIOp> ? lhs : constant(0);
    if (l == 0)
      return constant(0);
  }
  if (std::is_same_v<Op, arith::SubIOp> && r == 0)
    return lhs;
  return Op::create(b, loc, lhs, rhs);
}

#define ONEFLOW_INDEX_OP(name, Op)                                             \
  Value KernelEmitter::name(Value lhs, Value rhs) {                            \
    return fold<arith::Op>(b, loc, lhs, rhs,                                   \
                           [&](int64_t value) { return constant(value); });    \
  }
ONEFLOW_INDEX_OP(add, AddIOp)
ONEFLOW_INDEX_OP(sub, SubIOp)
ONEFLOW_INDEX_OP(mul, MulIOp)
ONEFLOW_INDEX_OP(div, DivUIOp)
ONEFLOW_INDEX_OP(rem, RemUIOp)
ONEFLOW_INDEX_OP(min, MinSIOp)
ONEFLOW_INDEX_OP(max, MaxSIOp)
#undef ONEFLOW_INDEX_OP

Value KernelEmitter::ceilDiv(Value lhs, int64_t rhs) {
  return div(add(lhs, constant(rhs - 1)), constant(rhs));
}

Value KernelEmitter::toI64(Value index) {
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
}

Value KernelEmitter::affine(AffineExpr expr, ArrayRef<Value> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return constant(value.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = affine(binary.getLHS(), dims),
        rhs = affine(binary.getRHS(), dims);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return add(lhs, rhs);
  case AffineExprKind::Mul:
    return mul(lhs, rhs);
  case AffineExprKind::FloorDiv:
    return b.createOrFold<arith::FloorDivSIOp>(loc, lhs, rhs);
  case AffineExprKind::CeilDiv:
    return b.createOrFold<arith::CeilDivSIOp>(loc, lhs, rhs);
  default: { // the remainder is never negative
    Value remainder = b.createOrFold<arith::RemSIOp>(loc, lhs, rhs);
    Value negative = b.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::slt, remainder, constant(0));
    return b.createOrFold<arith::SelectOp>(loc, negative, add(remainder, rhs),
                                           remainder);
  }
  }
}

Value KernelEmitter::extent(const Extent &extent) {
  std::pair<int64_t, SmallVector<unsigned, 2>> key{extent.factor,
                                                   extent.symbols};
  auto it = extents.find(key);
  if (it != extents.end())
    return it->second;
  if (extent.isStatic())
    return constant(extent.factor);
  Value result;
  for (unsigned symbol : extent.symbols) {
    Value value = scalar(graph.symbols[symbol]);
    result =
        result ? arith::MulIOp::create(prologue, loc, result, value) : value;
  }
  if (extent.factor != 1)
    result =
        arith::MulIOp::create(prologue, loc, result, constant(extent.factor));
  return extents[key] = result;
}

SmallVector<Value> KernelEmitter::delinearize(Value index,
                                              ArrayRef<Value> sizes) {
  SmallVector<Value> result(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    result[i] = i == 0 ? index : rem(index, sizes[i]);
    if (i)
      index = div(index, sizes[i]);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Memory and loops
//===----------------------------------------------------------------------===//

/// A bool is a byte. A bf16 is its bits, or LLVM would put calls of a runtime
/// library around mere moves where the target knows no bf16.
static Type storedType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  return element;
}

Value KernelEmitter::linearIndex(const Binding &binding,
                                 ArrayRef<Value> indices) {
  if (binding.panel.width) {
    Value along = indices[binding.panel.dim],
          other = indices[1 - binding.panel.dim];
    Value width = constant(binding.panel.width);
    Value panel = mul(div(along, width), mul(binding.panelRows, width));
    return add(add(panel, mul(other, width)), rem(along, width));
  }
  Value linear = constant(0);
  for (auto [position, stride] : llvm::zip(indices, binding.strides))
    linear = add(linear, mul(position, stride));
  return binding.offset ? add(linear, binding.offset) : linear;
}

Value KernelEmitter::elementPointer(const Binding &binding,
                                    ArrayRef<Value> indices) {
  return LLVM::GEPOp::create(b, loc, binding.pointer.getType(),
                             storedType(binding.element), binding.pointer,
                             ValueRange{toI64(linearIndex(binding, indices))},
                             LLVM::GEPNoWrapFlags::inbounds);
}

template <typename Op> void KernelEmitter::tagAccess(Op op, unsigned buffer) {
  if (accessGroup)
    op.setAccessGroupsAttr(b.getArrayAttr(accessGroup));
  if (buffer == ~0u)
    return;
  SmallVector<Attribute> others;
  for (unsigned other = 0; other < scopes.size(); ++other) {
    bool shares = other == buffer;
    for (auto [operand, result] : shareable)
      shares |= (operand == other && result == buffer) ||
                (operand == buffer && result == other);
    if (!shares)
      others.push_back(scopes[other]);
  }
  op.setAliasScopesAttr(b.getArrayAttr(scopes[buffer]));
  if (!others.empty())
    op.setNoaliasScopesAttr(b.getArrayAttr(others));
}

unsigned KernelEmitter::newScope() {
  scopes.push_back(LLVM::AliasScopeAttr::get(domain));
  return scopes.size() - 1;
}

Value KernelEmitter::load(const Binding &binding, ArrayRef<Value> indices) {
  auto op = LLVM::LoadOp::create(b, loc, storedType(binding.element),
                                 elementPointer(binding, indices));
  tagAccess(op, binding.buffer);
  if (binding.element.isBF16())
    return arith::BitcastOp::create(b, loc, binding.element, op);
  if (!binding.element.isInteger(1))
    return op;
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, op,
                               zero(b.getI8Type()));
}

void KernelEmitter::store(Value value, const Binding &binding,
                          ArrayRef<Value> indices) {
  if (binding.element.isInteger(1))
    value = arith::ExtUIOp::create(b, loc, b.getI8Type(), value);
  if (binding.element.isBF16())
    value = arith::BitcastOp::create(b, loc, b.getI16Type(), value);
  auto op =
      LLVM::StoreOp::create(b, loc, value, elementPointer(binding, indices));
  tagAccess(op, binding.buffer);
}

Value KernelEmitter::stackArray(Type element, int64_t count) {
  Value size = arith::ConstantIntOp::create(prologue, loc, count, 64);
  return LLVM::AllocaOp::create(prologue, loc,
                                LLVM::LLVMPointerType::get(b.getContext()),
                                storedType(element), size, 64);
}

SmallVector<Value> KernelEmitter::loop(Value begin, Value end, int64_t step,
                                       ValueRange carried, const LoopBody &body,
                                       bool parallel) {
  auto forOp = scf::ForOp::create(b, loc, begin, end, constant(step), carried);
  if (parallel && accessGroup) {
    auto annotation = LLVM::LoopAnnotationAttr::get(
        b.getContext(), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {cast<LLVM::AccessGroupAttr>(accessGroup)});
    forOp->setAttr("llvm.loop_annotation", annotation);
  }
  OpBuilder::InsertionGuard guard(b);
  if (carried.empty())
    b.setInsertionPoint(forOp.getBody()->getTerminator());
  else
    b.setInsertionPointToStart(forOp.getBody());
  memo.emplace_back();
  SmallVector<Value> next =
      body(forOp.getInductionVar(), forOp.getRegionIterArgs());
  memo.pop_back();
  if (!carried.empty())
    scf::YieldOp::create(b, loc, next);
  return SmallVector<Value>(forOp.getResults());
}

void KernelEmitter::forEach(Value begin, Value end,
                            const std::function<void(Value)> &body,
                            bool parallel) {
  loop(
      begin, end, 1, {},
      [&](Value index, ValueRange) {
        body(index);
        return SmallVector<Value>();
      },
      parallel);
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

void KernelEmitter::reset() {
  bindings.clear();
  resultBindings.clear();
  scalars.clear();
  extents.clear();
  memo.clear();
  scopes.clear();
  shareable.clear();
  accessGroup = {};
  workspaceBytes = 0;
  memo.emplace_back();
}

LLVM::LLVMFuncOp KernelEmitter::beginFunction(StringRef name, Type result,
                                              ArrayRef<Type> arguments) {
  reset();
  loc = graph.kernel.getLoc();
  b.setInsertionPoint(graph.kernel);
  function = LLVM::LLVMFuncOp::create(
      b, loc, name, LLVM::LLVMFunctionType::get(result, arguments));
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  // Marks the end of the prologue.
  marker = LLVM::UndefOp::create(b, loc, b.getI32Type());
  prologue.setInsertionPoint(marker);
  return function;
}

void KernelEmitter::endFunction() { marker->erase(); }

void KernelEmitter::bindBuffers() {
  auto pointerType = LLVM::LLVMPointerType::get(b.getContext());
  int32_t next = 0;
  auto loadPointer = [&]() -> Value {
    Value slot =
        LLVM::GEPOp::create(prologue, loc, pointerType, pointerType,
                            buffersPointer, ArrayRef<LLVM::GEPArg>{next++});
    return LLVM::LoadOp::create(prologue, loc, pointerType, slot, 8, false,
                                false,
                                /*isInvariant=*/true);
  };
  auto fill = [&](Type type, const Extents &shape, PanelLayout panel) {
    Binding binding;
    binding.pointer = loadPointer();
    binding.element = cast<RankedTensorType>(type).getElementType();
    binding.buffer = newScope();
    binding.panel = panel;
    if (panel.width)
      binding.panelRows = extent(shape[1 - panel.dim]);
    Extent stride;
    for (const Extent &size : llvm::reverse(shape)) {
      binding.strides.insert(binding.strides.begin(), extent(stride));
      stride = stride * size;
    }
    return binding;
  };
  for (BlockArgument argument : graph.kernel.getArguments())
    if (!argument.getType().isIndex())
      bindings[argument] = fill(argument.getType(), graph.shapeOf(argument),
                                panelOfArgument(argument));
  auto returnOp =
      cast<func::ReturnOp>(graph.kernel.getBody().front().getTerminator());
  for (auto [n, value] : llvm::enumerate(returnOp.getOperands()))
    resultBindings[n] = fill(value.getType(), graph.shapeOf(value),
                             panelOfResult(graph.kernel, n));
  // Comes last in the buffers, if it turns out to be needed.
  workspacePointer = loadPointer();
  for (auto &node : graph.nodes)
    for (unsigned i = 0; i < node->results.size(); ++i) {
      if (node->returned[i] < 0)
        bindLocal(*node, i);
      else if (graph.keptBy.lookup(node->results[i]) == node.get())
        bindings[node->results[i]] = resultBindings[node->returned[i]];
    }
  if (workspaceBytes == 0) {
    Operation *load = workspacePointer.getDefiningOp();
    Operation *slot = load->getOperand(0).getDefiningOp();
    load->erase();
    slot->erase();
  }
}

void KernelEmitter::bindLocal(Node &node, unsigned result) {
  Value tensor = node.results[result];
  Binding binding;
  binding.element = cast<RankedTensorType>(tensor.getType()).getElementType();
  binding.buffer = ~0u;
  int64_t bytes =
      std::max<int64_t>(1, binding.element.getIntOrFloatBitWidth() / 8);
  Extents shape = graph.shapeOf(tensor);
  Storage storage = graph.storage[tensor];
  if (storage == Storage::Register)
    return;
  if (storage == Storage::RowStack) {
    Stage &stage = *graph.stageOf(tensor);
    int64_t stride = stage.lanes ? kLanes : 1;
    for (unsigned i = node.outDims.size(); i-- > 0;) {
      int dim = node.outDims[i];
      bool isRow = dim >= 0 &&
                   llvm::is_contained(node.rowDims, static_cast<unsigned>(dim));
      bool isLane = isRow && stage.lanes &&
                    node.rowDims.back() == static_cast<unsigned>(dim);
      binding.strides.insert(binding.strides.begin(),
                             constant(isLane             ? 1
                                      : isRow || dim < 0 ? 0
                                                         : stride));
      if (!isRow && dim >= 0)
        stride *= *graph.boundOf(node.domain[dim]);
    }
    binding.pointer = stackArray(binding.element, stride);
  } else {
    Extent stride;
    for (const Extent &size : llvm::reverse(shape)) {
      binding.strides.insert(binding.strides.begin(), extent(stride));
      stride = stride * size;
    }
    int64_t count = *graph.boundOf(stride);
    if (storage == Storage::Stack) {
      binding.pointer = stackArray(binding.element, count);
    } else {
      auto pointerType = LLVM::LLVMPointerType::get(b.getContext());
      binding.pointer = LLVM::GEPOp::create(
          prologue, loc, pointerType, b.getI8Type(), workspacePointer,
          ValueRange{
              arith::ConstantIntOp::create(prologue, loc, workspaceBytes, 64)});
      binding.buffer = newScope();
      workspaceBytes += (count * bytes + 63) / 64 * 64;
    }
  }
  bindings[tensor] = binding;
}

/// Finds the pairs of operand and result for which one pass over the elements
/// reads the operand at no index but the one that it then writes.
void KernelEmitter::findShareable() {
  if (graph.stages.size() != 1 ||
      graph.stages.front()->kind != Stage::Kind::Pointwise)
    return;
  unsigned operands = 0;
  SmallVector<Value> tensors;
  for (BlockArgument argument : graph.kernel.getArguments())
    if (!argument.getType().isIndex())
      tensors.push_back(argument);
  operands = tensors.size();
  MLIRContext *context = b.getContext();
  for (auto [number, operand] : llvm::enumerate(tensors)) {
    auto type = cast<RankedTensorType>(operand.getType());
    PanelLayout panel = panelOfArgument(cast<BlockArgument>(operand));
    bool onlyHere = true;
    for (auto &node : graph.nodes)
      for (Access &access : node->accesses) {
        if (access.tensor != operand)
          continue;
        for (auto [dim, expr] : llvm::enumerate(access.indices)) {
          AffineExpr here =
              node->domain.size() > dim && node->domain[dim].isOne()
                  ? getAffineConstantExpr(0, context)
                  : getAffineDimExpr(dim, context);
          onlyHere &= expr == here;
        }
      }
    if (!onlyHere)
      continue;
    for (auto &node : graph.nodes)
      for (auto [result, returned] : llvm::zip(node->results, node->returned)) {
        if (returned < 0)
          continue;
        PanelLayout other = panelOfResult(graph.kernel, returned);
        if (result.getType() != type || panel.width != other.width ||
            panel.dim != other.dim ||
            graph.shapeOf(result) != graph.shapeOf(operand))
          continue;
        shareable.push_back({static_cast<unsigned>(number),
                             operands + static_cast<unsigned>(returned)});
      }
  }
  // All nodes must walk their dims in one order, or an index differs.
  for (auto &node : graph.nodes)
    if (node->rowDims != graph.nodes.front()->rowDims ||
        node->domain != graph.nodes.front()->domain)
      shareable.clear();
  SmallVector<Attribute> pairs;
  for (auto [operand, result] : shareable)
    pairs.push_back(
        b.getDenseI64ArrayAttr({static_cast<int64_t>(operand),
                                static_cast<int64_t>(result - operands)}));
  if (!pairs.empty())
    function->setAttr("oneflow.may_share", b.getArrayAttr(pairs));
}

Value KernelEmitter::stageItems(Stage &stage) {
  switch (stage.kind) {
  case Stage::Kind::Pointwise:
    return pointwiseShape(stage).items;
  case Stage::Kind::Rows:
    return rowItems(stage);
  case Stage::Kind::Contraction:
    return contractionItems(stage);
  case Stage::Kind::Scatter:
    return scatterItems(stage);
  }
  llvm_unreachable("unknown kind of stage");
}

void KernelEmitter::emitStage(Stage &stage, Value begin, Value end) {
  loc = stage.nodes.front()->loc;
  switch (stage.kind) {
  case Stage::Kind::Pointwise:
    emitPointwise(stage, begin, end);
    break;
  case Stage::Kind::Rows:
    emitRows(stage, begin, end);
    break;
  case Stage::Kind::Contraction:
    emitContraction(stage, begin, end);
    break;
  case Stage::Kind::Scatter:
    emitScatter(stage, begin, end);
    break;
  }
  for (Node *node : stage.nodes)
    emitPadding(*node, begin, end);
}

LogicalResult
KernelEmitter::emit(SmallVectorImpl<LLVM::LLVMFuncOp> &functions) {
  MLIRContext *context = b.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = b.getI64Type(), i32 = b.getI32Type();
  bool sequential = graph.hasDependentStages();
  std::string name = graph.kernel.getName().str();

  functions.push_back(beginFunction(name + ".items", i64, {pointer}));
  scalarsPointer = function.getArgument(0);
  Value items = constant(sequential ? 1 : 0);
  if (!sequential)
    for (auto &stage : graph.stages)
      items = add(items, stageItems(*stage));
  LLVM::ReturnOp::create(b, loc, toI64(items));
  endFunction();

  functions.push_back(beginFunction("", i32, {pointer, pointer, i64, i64}));
  functions.back().setName(name + ".kernel");
  domain = LLVM::AliasScopeDomainAttr::get(context);
  buffersPointer = function.getArgument(0);
  scalarsPointer = function.getArgument(1);
  status = stackArray(i32, 1);
  LLVM::StoreOp::create(
      b, loc, arith::ConstantIntOp::create(prologue, loc, 0, 32), status, 4);
  bindBuffers();
  findShareable();
  Value begin = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                           function.getArgument(2));
  Value end = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                         function.getArgument(3));
  if (sequential) {
    forEach(begin, min(end, constant(1)), [&](Value) {
      for (auto &stage : graph.stages)
        emitStage(*stage, constant(0), stageItems(*stage));
    });
  } else if (graph.stages.size() == 1) {
    emitStage(*graph.stages.front(), begin, end);
  } else {
    Value before = constant(0);
    for (auto &stage : graph.stages) {
      Value count = stageItems(*stage);
      Value from = max(min(sub(begin, before), count), constant(0));
      Value to = max(min(sub(end, before), count), constant(0));
      emitStage(*stage, from, to);
      before = add(before, count);
    }
  }
  loc = graph.kernel.getLoc();
  LLVM::ReturnOp::create(b, loc,
                         Value(LLVM::LoadOp::create(b, loc, i32, status, 4)));
  endFunction();
  function->setAttr("oneflow.workspace", b.getI64IntegerAttr(workspaceBytes));
  return success();
}

} // namespace oneflow::cpu
