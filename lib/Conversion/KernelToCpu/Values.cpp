//===- Values.cpp - a tensor's element at an index ------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the element of a tensor value at given indices: a load if the tensor
// is bound to memory, otherwise the code that defines it, at those indices.
// Fusion is nothing more than this.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace oneflow::cpu {

Value KernelEmitter::zero(Type type) {
  return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
}

Value KernelEmitter::index(OpFoldResult value) {
  if (auto attr = dyn_cast<Attribute>(value))
    return constant(cast<IntegerAttr>(attr).getInt());
  return extent(graph.extentOf(cast<Value>(value)));
}

Value KernelEmitter::scalar(Value source) {
  if (Value known = scalars.lookup(source))
    return known;
  Value result;
  if (auto argument = dyn_cast<BlockArgument>(source)) {
    unsigned number = 0;
    for (BlockArgument other : argument.getOwner()->getArguments()) {
      if (other == argument)
        break;
      number += other.getType().isIndex();
    }
    Value pointer = LLVM::GEPOp::create(
        prologue, loc, LLVM::LLVMPointerType::get(b.getContext()),
        b.getI64Type(), scalarsPointer,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)});
    Value loaded = LLVM::LoadOp::create(prologue, loc, b.getI64Type(), pointer,
                                        8, false, false, /*isInvariant=*/true);
    result =
        arith::IndexCastOp::create(prologue, loc, b.getIndexType(), loaded);
  } else if (auto dim = source.getDefiningOp<tensor::DimOp>()) {
    result = extent(graph.extentOf(source));
  } else if (auto extract = source.getDefiningOp<tensor::ExtractOp>()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(marker);
    memo.emplace_back();
    SmallVector<Value> indices;
    for (Value operand : extract.getIndices())
      indices.push_back(scalar(operand));
    result = at(extract.getTensor(), indices);
    memo.pop_back();
  } else {
    Operation *op = source.getDefiningOp();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, scalar(operand));
    Operation *copy = prologue.clone(*op, mapping);
    for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
      scalars[from] = to;
    return scalars[source];
  }
  scalars[source] = result;
  return result;
}

Value KernelEmitter::choose(Value condition, const std::function<Value()> &then,
                            const std::function<Value()> &otherwise) {
  APInt known;
  if (matchPattern(condition, m_ConstantInt(&known)))
    return known.isZero() ? otherwise() : then();
  auto branch = [&](const std::function<Value()> &emit) {
    return [&](OpBuilder &builder, Location) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(builder.getBlock());
      memo.emplace_back();
      Value value = emit();
      memo.pop_back();
      scf::YieldOp::create(b, loc, value);
    };
  };
  return scf::IfOp::create(b, loc, condition, branch(then), branch(otherwise))
      .getResult(0);
}

Value KernelEmitter::at(Value tensor, ArrayRef<Value> indices) {
  auto bound = bindings.find(tensor);
  Key key{tensor.getAsOpaquePointer(), {}};
  for (Value value : indices)
    key.second.push_back(value.getAsOpaquePointer());
  if (bound != bindings.end() && bound->second.scalar)
    return bound->second.scalar;
  // What a loop of this stage has stored must be read again.
  bool canRemember = bound == bindings.end() || isa<BlockArgument>(tensor);
  if (canRemember)
    for (auto &scope : llvm::reverse(memo)) {
      auto it = scope.find(key);
      if (it != scope.end())
        return it->second;
    }
  Value result = bound != bindings.end() ? load(bound->second, indices)
                                         : definitionAt(tensor, indices);
  if (canRemember)
    memo.back()[key] = result;
  return result;
}

Value KernelEmitter::constantAt(arith::ConstantOp op, ArrayRef<Value> indices) {
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (elements && elements.isSplat())
    return arith::ConstantOp::create(b, loc, element,
                                     elements.getSplatValue<TypedAttr>());
  // A table in the module's read-only data.
  auto module = function->getParentOfType<ModuleOp>();
  LLVM::GlobalOp &global = tables[op];
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(function);
    Attribute value = op.getValue();
    Type stored = element;
    if (element.isInteger(1)) {
      stored = b.getI8Type();
      SmallVector<int8_t> bytes;
      for (bool bit : elements.getValues<bool>())
        bytes.push_back(bit);
      value = DenseElementsAttr::get(
          RankedTensorType::get({elements.getNumElements()}, stored),
          ArrayRef<int8_t>(bytes));
    } else {
      value = elements.reshape(
          RankedTensorType::get({elements.getNumElements()}, stored));
    }
    // The module's functions have names of the user's choice.
    std::string stem = (graph.kernel.getName() + ".table").str(), name = stem;
    for (unsigned number = 1; module.lookupSymbol(name); ++number)
      name = stem + std::to_string(number);
    global = LLVM::GlobalOp::create(
        b, op.getLoc(),
        LLVM::LLVMArrayType::get(stored, elements.getNumElements()),
        /*isConstant=*/true, LLVM::Linkage::Internal, name, value, 64);
  }
  Binding binding;
  binding.pointer = LLVM::AddressOfOp::create(b, loc, global);
  binding.element = element;
  Value stride = constant(1);
  for (int64_t size : llvm::reverse(elements.getType().getShape())) {
    binding.strides.insert(binding.strides.begin(), stride);
    stride = mul(stride, constant(size));
  }
  binding.buffer = ~0u;
  return load(binding, indices);
}

Value KernelEmitter::definitionAt(Value tensor, ArrayRef<Value> indices) {
  Operation *op = tensor.getDefiningOp();
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  if (!op) // a returned argument: a copy
    return load(bindings[tensor], indices);
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    unsigned number = cast<OpResult>(tensor).getResultNumber();
    AffineMap map =
        generic.getMatchingIndexingMap(generic.getDpsInitOperand(number));
    SmallVector<Value> dims(generic.getNumLoops());
    for (auto [expr, value] : llvm::zip(map.getResults(), indices))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        dims[dim.getPosition()] = value;
    for (Value &dim : dims)
      if (!dim)
        dim = constant(0);
    return genericAt(generic, dims)[number];
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    SmallVector<Value> source;
    unsigned next = 0;
    for (auto [dim, offset, stride] :
         llvm::zip(llvm::seq<unsigned>(0, slice.getSourceType().getRank()),
                   slice.getMixedOffsets(), slice.getMixedStrides())) {
      Value position = dropped.test(dim) ? constant(0) : indices[next++];
      source.push_back(add(index(offset), mul(position, index(stride))));
    }
    return at(slice.getSource(), source);
  }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    // Inside the slice, the source; outside, the destination.
    llvm::SmallBitVector dropped = insert.getDroppedDims();
    Value inside = arith::ConstantIntOp::create(b, loc, 1, 1);
    SmallVector<Value> source;
    for (auto [dim, offset, size, stride] :
         llvm::zip(llvm::seq<unsigned>(0, insert.getDestType().getRank()),
                   insert.getMixedOffsets(), insert.getMixedSizes(),
                   insert.getMixedStrides())) {
      Value from = sub(indices[dim], index(offset));
      Value step = index(stride);
      if (getConstantIntValue(stride) != 1) {
        Value whole = b.createOrFold<arith::CmpIOp>(
            loc, arith::CmpIPredicate::eq, rem(from, step), constant(0));
        inside = b.createOrFold<arith::AndIOp>(loc, inside, whole);
        from = div(from, step);
      }
      // One unsigned comparison covers both ends.
      if (!(getConstantIntValue(offset) == 0 &&
            extent(graph.shapeOf(insert.getDest())[dim]) == index(size))) {
        Value within = b.createOrFold<arith::CmpIOp>(
            loc, arith::CmpIPredicate::ult, from, index(size));
        inside = b.createOrFold<arith::AndIOp>(loc, inside, within);
      }
      if (!dropped.test(dim))
        source.push_back(from);
    }
    return choose(
        inside, [&] { return at(insert.getSource(), source); },
        [&] { return at(insert.getDest(), indices); });
  }
  if (auto castOp = dyn_cast<tensor::CastOp>(op))
    return at(castOp.getSource(), indices);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    Extents shape = graph.shapeOf(collapse.getSrc());
    SmallVector<Value> source(shape.size());
    for (auto [position, group] :
         llvm::zip(indices, collapse.getReassociationIndices())) {
      SmallVector<int64_t> wide;
      SmallVector<Value> sizes;
      for (int64_t dim : group) {
        source[dim] = constant(0);
        if (!shape[dim].isOne()) {
          wide.push_back(dim);
          sizes.push_back(extent(shape[dim]));
        }
      }
      for (auto [dim, value] : llvm::zip(wide, delinearize(position, sizes)))
        source[dim] = value;
    }
    for (Value &value : source)
      if (!value)
        value = constant(0);
    return at(collapse.getSrc(), source);
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    Extents shape = graph.shapeOf(tensor);
    SmallVector<Value> source;
    for (const auto &group : expand.getReassociationIndices()) {
      Value position = constant(0);
      for (int64_t dim : group)
        if (!shape[dim].isOne())
          position = add(mul(position, extent(shape[dim])), indices[dim]);
      source.push_back(position);
    }
    return at(expand.getSrc(), source);
  }
  if (auto reshape = dyn_cast<tensor::ReshapeOp>(op)) {
    Value position = constant(0);
    for (auto [size, value] : llvm::zip(graph.shapeOf(tensor), indices))
      position = add(mul(position, extent(size)), value);
    SmallVector<Value> sizes;
    for (const Extent &size : graph.shapeOf(reshape.getSource()))
      sizes.push_back(extent(size));
    return at(reshape.getSource(), delinearize(position, sizes));
  }
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    Value inside = arith::ConstantIntOp::create(b, loc, 1, 1);
    SmallVector<Value> source;
    for (auto [position, low, size] : llvm::zip(
             indices, pad.getMixedLowPad(), graph.shapeOf(pad.getSource()))) {
      source.push_back(sub(position, index(low)));
      Value within = b.createOrFold<arith::CmpIOp>(
          loc, arith::CmpIPredicate::ult, source.back(), extent(size));
      inside = b.createOrFold<arith::AndIOp>(loc, inside, within);
    }
    return choose(
        inside, [&] { return at(pad.getSource(), source); },
        [&] {
          IRMapping mapping;
          mapping.map(pad.getRegion().getArguments(), indices);
          Block &body = pad.getRegion().front();
          for (Operation &inner : body.without_terminator())
            cloneBodyOp(inner, indices, mapping);
          Value yielded = body.getTerminator()->getOperand(0);
          return mapping.contains(yielded) ? mapping.lookup(yielded)
                                           : scalar(yielded);
        });
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    std::function<Value(unsigned, Value)> part = [&](unsigned input,
                                                     Value position) -> Value {
      SmallVector<Value> source(indices);
      source[concat.getDim()] = position;
      Value operand = concat.getInputs()[input];
      if (input + 1 == concat.getInputs().size())
        return at(operand, source);
      Value size = extent(graph.shapeOf(operand)[concat.getDim()]);
      Value here = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult,
                                                 position, size);
      return choose(
          here, [&] { return at(operand, source); },
          [&] { return part(input + 1, sub(position, size)); });
    };
    return part(0, indices[concat.getDim()]);
  }
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return scalar(splat.getInput());
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op)) {
    Value position = constant(0);
    for (auto [size, value] : llvm::zip(graph.shapeOf(tensor), indices))
      position = add(mul(position, extent(size)), value);
    Value result = scalar(elements.getElements().front());
    for (auto [n, value] :
         llvm::enumerate(elements.getElements().drop_front())) {
      Value here = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                                 position, constant(n + 1));
      result =
          b.createOrFold<arith::SelectOp>(loc, here, scalar(value), result);
    }
    return result;
  }
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op))
    return constantAt(constantOp, indices);
  return zero(element); // tensor.empty: any value will do
}

SmallVector<Value> KernelEmitter::genericAt(linalg::GenericOp op,
                                            ArrayRef<Value> dims) {
  // All results of an op with several come out of one evaluation.
  Key key{op.getOperation(), {}};
  for (Value dim : dims)
    key.second.push_back(dim.getAsOpaquePointer());
  key.second.push_back(nullptr);
  SmallVector<Value> results;
  if (op->getNumResults() > 1)
    for (auto &scope : llvm::reverse(memo)) {
      results.clear();
      for (unsigned n = 0; n < op->getNumResults(); ++n) {
        key.second.back() =
            reinterpret_cast<void *>(static_cast<uintptr_t>(n + 1));
        auto it = scope.find(key);
        if (it != scope.end())
          results.push_back(it->second);
      }
      if (results.size() == op->getNumResults())
        return results;
    }
  SmallVector<Value> accumulators;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    SmallVector<Value> indices;
    if (!op.payloadUsesValueFromOperand(&init)) {
      accumulators.push_back(Value());
      continue;
    }
    for (AffineExpr expr : op.getMatchingIndexingMap(&init).getResults())
      indices.push_back(affine(expr, dims));
    accumulators.push_back(at(init.get(), indices));
  }
  results = emitBody(op, dims, accumulators);
  if (op->getNumResults() > 1)
    for (auto [n, value] : llvm::enumerate(results)) {
      key.second.back() =
          reinterpret_cast<void *>(static_cast<uintptr_t>(n + 1));
      memo.back()[key] = value;
    }
  return results;
}

void KernelEmitter::checkInRange(Value condition) {
  Value code = LLVM::LoadOp::create(b, loc, b.getI32Type(), status, 4);
  Value bad = arith::ConstantIntOp::create(b, loc, 2, 32);
  Value next = arith::SelectOp::create(b, loc, condition, code, bad);
  LLVM::StoreOp::create(b, loc, next, status, 4);
}

void KernelEmitter::cloneBodyOp(Operation &op, ArrayRef<Value> dims,
                                IRMapping &mapping) {
  auto mapped = [&](Value value) {
    return mapping.contains(value) ? mapping.lookup(value) : scalar(value);
  };
  if (auto indexOp = dyn_cast<linalg::IndexOp>(op)) {
    mapping.map(indexOp.getResult(), dims[indexOp.getDim()]);
    return;
  }
  if (auto assertOp = dyn_cast<cf::AssertOp>(op))
    return checkInRange(mapped(assertOp.getArg()));
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    // Whatever the data says, no read may leave the buffer.
    SmallVector<Value> indices;
    for (auto [value, size] :
         llvm::zip(extract.getIndices(), graph.shapeOf(extract.getTensor()))) {
      Value last = sub(extent(size), constant(1));
      indices.push_back(max(min(mapped(value), last), constant(0)));
    }
    mapping.map(extract.getResult(), at(extract.getTensor(), indices));
    return;
  }
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    mapping.map(dim.getResult(), extent(graph.extentOf(dim.getResult())));
    return;
  }
  if (op.getNumRegions() != 0) {
    // Values from outside that the regions use are mapped before cloning.
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!mapping.contains(operand) &&
            operand.getParentBlock() == &graph.kernel.getBody().front() &&
            !isa<TensorType>(operand.getType()))
          mapping.map(operand, scalar(operand));
    });
  } else {
    for (Value operand : op.getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, scalar(operand));
  }
  Operation *copy = b.clone(op, mapping);
  auto allow = [&](auto typed) {
    typed.setFastmath(typed.getFastmath() | arith::FastMathFlags::contract);
  };
  // Rounding once for a product and a sum is faster and no less exact.
  if (auto addOp = dyn_cast<arith::AddFOp>(copy))
    allow(addOp);
  else if (auto subOp = dyn_cast<arith::SubFOp>(copy))
    allow(subOp);
  else if (auto mulOp = dyn_cast<arith::MulFOp>(copy))
    allow(mulOp);
}

SmallVector<Value> KernelEmitter::emitBody(linalg::GenericOp op,
                                           ArrayRef<Value> dims,
                                           ArrayRef<Value> accumulators) {
  IRMapping mapping;
  Block &body = *op.getBody();
  for (OpOperand &input : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&input);
    if (op.isDpsInit(&input)) {
      Value value =
          accumulators[input.getOperandNumber() - op.getNumDpsInputs()];
      mapping.map(argument, value ? value : zero(argument.getType()));
      continue;
    }
    if (argument.use_empty())
      continue;
    if (!isa<RankedTensorType>(input.get().getType())) {
      mapping.map(argument, scalar(input.get()));
      continue;
    }
    SmallVector<Value> indices;
    for (AffineExpr expr : op.getMatchingIndexingMap(&input).getResults())
      indices.push_back(affine(expr, dims));
    mapping.map(argument, at(input.get(), indices));
  }
  for (Operation &inner : body.without_terminator()) {
    Location saved = loc;
    loc = inner.getLoc();
    cloneBodyOp(inner, dims, mapping);
    loc = saved;
  }
  SmallVector<Value> results;
  for (Value yielded : body.getTerminator()->getOperands())
    results.push_back(mapping.contains(yielded) ? mapping.lookup(yielded)
                                                : scalar(yielded));
  return results;
}

} // namespace oneflow::cpu
