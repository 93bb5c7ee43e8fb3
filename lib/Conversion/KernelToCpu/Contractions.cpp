//===- Contractions.cpp - register-tiled matrix products ------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A work item is a block of rows times one panel of columns. For each item:
//
//   for each block of K:              (one block, if B can be read in place)
//     pack the panel of B, K block x tile columns, on the stack
//     for each tile of rows: the accumulators stay in registers over K
//   epilogue: pointwise readers of the product, from the block on the stack
//
// B is read in place if it is an argument in panels of the right width, or if
// its rows are contiguous and there are too few rows of A to pay for packing.
// Rows beyond the last are computed again from the last row and not stored, so
// every tile is whole; columns beyond the last are zeros of the packed panel,
// or masked off.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace oneflow::cpu {

/// Rows of A per item; their accumulators lie on the stack.
constexpr int64_t kBlockRows = 128;
/// Items that keep a large machine busy.
constexpr int64_t kManyItems = 32;
/// Stack for the packed panel of B.
constexpr int64_t kPackBytes = 32 * 1024;
/// With fewer rows than this, packing B costs more than it saves.
constexpr int64_t kPackRows = 48;

struct KernelEmitter::ContractionShape {
  enum class Source { Panels, InPlace, Packed };

  Node *node;
  Contraction dims;
  Type element;
  int64_t lanes;     // elements per vector
  int64_t vectors;   // vectors per tile row
  int64_t tileRows;  // rows per register tile
  int64_t blockRows; // rows per item
  Source source;
  Extent rows, outer, depth, width;
  /// The n dims that run along the columns as one, and those outside.
  SmallVector<unsigned, 2> columnDims, outerDims;
  Value panels, rowBlocks, items;
  int64_t columns() const { return lanes * vectors; }
};

std::optional<Binding> KernelEmitter::view(Value tensor) {
  auto bound = bindings.find(tensor);
  if (bound != bindings.end()) {
    if (bound->second.panel.width || !bound->second.pointer)
      return std::nullopt;
    return bound->second;
  }
  Operation *op = tensor.getDefiningOp();
  if (!op || !isStridedView(graph, tensor))
    return std::nullopt;
  Extents shape = graph.shapeOf(tensor);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    // Contiguous below, so row-major strides of the new shape hold.
    std::optional<Binding> source = view(collapse.getSrc());
    if (!source)
      return std::nullopt;
    source->strides.clear();
    Extent stride;
    for (const Extent &size : llvm::reverse(shape)) {
      source->strides.insert(source->strides.begin(), extent(stride));
      stride = stride * size;
    }
    return source;
  }
  std::optional<Binding> source = view(op->getOperand(0));
  if (!source)
    return std::nullopt;
  if (isa<tensor::CastOp>(op))
    return source;
  SmallVector<Value, 4> strides(shape.size(), constant(0));
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (auto [dim, group] :
         llvm::enumerate(expand.getReassociationIndices())) {
      Value stride = source->strides[dim];
      for (int64_t to : llvm::reverse(group)) {
        strides[to] = stride;
        stride = mul(stride, extent(shape[to]));
      }
    }
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    Value offset = source->offset ? source->offset : constant(0);
    unsigned next = 0;
    for (auto [dim, start, step] :
         llvm::zip(llvm::seq<unsigned>(0, slice.getSourceType().getRank()),
                   slice.getMixedOffsets(), slice.getMixedStrides())) {
      offset = add(offset, mul(index(start), source->strides[dim]));
      if (!dropped.test(dim))
        strides[next++] = mul(source->strides[dim], index(step));
    }
    source->offset = offset;
  } else {
    auto generic = cast<linalg::GenericOp>(op);
    SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
    SmallVector<Value> perDim(generic.getNumLoops(), constant(0));
    for (auto [expr, stride] : llvm::zip(maps[0].getResults(), source->strides))
      perDim[cast<AffineDimExpr>(expr).getPosition()] = stride;
    for (auto [position, expr] : llvm::enumerate(maps[1].getResults()))
      strides[position] = perDim[cast<AffineDimExpr>(expr).getPosition()];
  }
  source->strides = strides;
  return source;
}

KernelEmitter::ContractionShape KernelEmitter::contractionShape(Stage &stage) {
  ContractionShape shape;
  for (Node *node : stage.nodes)
    if (node->contraction)
      shape.node = node;
  Node &node = *shape.node;
  shape.dims = *node.contraction;
  linalg::GenericOp op = node.reduction;
  shape.element =
      cast<RankedTensorType>(op.getResult(0).getType()).getElementType();
  shape.lanes =
      options.vectorBytes / (shape.element.getIntOrFloatBitWidth() / 8);
  shape.vectors = 2;
  // As many accumulators as leave registers for B and a broadcast of A.
  shape.tileRows = options.vectorRegisters >= 32 ? 8 : 4;
  for (unsigned dim : shape.dims.m)
    shape.rows = shape.rows * node.domain[dim];
  for (unsigned dim : shape.dims.k)
    shape.depth = shape.depth * node.domain[dim];
  if (shape.rows.isStatic() && shape.rows.factor < shape.tileRows)
    shape.tileRows = std::max<int64_t>(1, shape.rows.factor);
  shape.blockRows = kBlockRows / shape.tileRows * shape.tileRows;
  if (shape.rows.isStatic() && shape.rows.factor <= kBlockRows)
    // Without rows there are no items, but a block has a size.
    shape.blockRows = std::max<int64_t>(
        shape.tileRows, (shape.rows.factor + shape.tileRows - 1) /
                            shape.tileRows * shape.tileRows);

  OpOperand *operand = op.getDpsInputOperand(shape.dims.b);
  AffineMap map = op.getMatchingIndexingMap(operand);
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  shape.source = ContractionShape::Source::Packed;
  auto argument = dyn_cast<BlockArgument>(operand->get());
  if (argument && panelOfArgument(argument).width) {
    PanelLayout panel = panelOfArgument(argument);
    auto along = dyn_cast<AffineDimExpr>(map.getResult(panel.dim));
    if (along && along.getPosition() == shape.dims.n.back() &&
        map.isProjectedPermutation() && shape.dims.k.size() == 1 &&
        shape.dims.n.size() == 1 && panel.width % shape.columns() == 0)
      shape.source = ContractionShape::Source::Panels;
  } else if (shape.rows.isStatic() && shape.rows.factor < kPackRows && last &&
             last.getPosition() == shape.dims.n.back() &&
             map.isProjectedPermutation() &&
             isStridedView(graph, operand->get())) {
    shape.source = ContractionShape::Source::InPlace;
  }
  // Packing takes columns from anywhere; reading in place needs one dim.
  shape.outerDims.assign(shape.dims.batch.begin(), shape.dims.batch.end());
  for (unsigned dim : shape.dims.n)
    if (shape.source == ContractionShape::Source::Packed ||
        dim == shape.dims.n.back())
      shape.columnDims.push_back(dim);
    else
      shape.outerDims.push_back(dim);
  for (unsigned dim : shape.outerDims)
    shape.outer = shape.outer * node.domain[dim];
  for (unsigned dim : shape.columnDims)
    shape.width = shape.width * node.domain[dim];
  // Packing pays the better the more rows use it, if enough items remain.
  if (shape.source == ContractionShape::Source::Packed &&
      shape.rows.isStatic() && shape.rows.factor >= 2 * kBlockRows &&
      shape.width.isStatic() && shape.outer.isStatic() &&
      shape.rows.factor / (2 * kBlockRows) * shape.outer.factor *
              (shape.width.factor / shape.columns()) >=
          kManyItems)
    shape.blockRows *= 2;
  shape.panels = ceilDiv(extent(shape.width), shape.columns());
  shape.rowBlocks = ceilDiv(extent(shape.rows), shape.blockRows);
  shape.items = mul(mul(extent(shape.outer), shape.rowBlocks), shape.panels);
  return shape;
}

Value KernelEmitter::contractionItems(Stage &stage) {
  return contractionShape(stage).items;
}

void KernelEmitter::emitContraction(Stage &stage, Value begin, Value end) {
  ContractionShape shape = contractionShape(stage);
  Node &node = *shape.node;
  linalg::GenericOp op = node.reduction;
  loc = node.loc;
  unsigned columnDim = shape.dims.n.back();
  auto vectorType = VectorType::get({shape.lanes}, shape.element);
  auto pointerType = LLVM::LLVMPointerType::get(b.getContext());
  int64_t columns = shape.columns();
  Value columnCount = extent(shape.width);
  Value rowCount = extent(shape.rows), depth = extent(shape.depth);
  bool needsK = shape.source == ContractionShape::Source::Packed;
  int64_t bytes = shape.element.getIntOrFloatBitWidth() / 8;
  int64_t blockDepth = kPackBytes / (columns * bytes);
  // A panel that stays in the first-level cache is worth a second pass over the
  // accumulators; half a block more is not. In place, B's rows are not dense.
  int64_t oneBlockLimit = needsK ? blockDepth : blockDepth * 3 / 2;
  bool oneBlock =
      shape.source == ContractionShape::Source::InPlace ||
      (shape.depth.isStatic() && shape.depth.factor <= oneBlockLimit);
  if (oneBlock && needsK)
    blockDepth = shape.depth.factor;

  OpOperand *operandA = op.getDpsInputOperand(shape.dims.a);
  OpOperand *operandB = op.getDpsInputOperand(shape.dims.b);
  Binding viewA = *view(operandA->get());
  AffineMap mapA = op.getMatchingIndexingMap(operandA);
  AffineMap mapB = op.getMatchingIndexingMap(operandB);
  auto strideOf = [&](const Binding &binding, AffineMap map, unsigned dim) {
    for (auto [expr, stride] : llvm::zip(map.getResults(), binding.strides))
      if (cast<AffineDimExpr>(expr).getPosition() == dim)
        return stride;
    return constant(0);
  };
  auto indicesOf = [&](AffineMap map, ArrayRef<Value> dims) {
    SmallVector<Value> indices;
    for (AffineExpr expr : map.getResults())
      indices.push_back(affine(expr, dims));
    return indices;
  };
  auto setDims = [&](SmallVector<Value> &dims, ArrayRef<unsigned> which,
                     Value position) {
    SmallVector<Value> sizes;
    for (unsigned dim : which)
      sizes.push_back(extent(node.domain[dim]));
    for (auto [dim, value] : llvm::zip(which, delinearize(position, sizes)))
      dims[dim] = value;
  };
  auto offsetPointer = [&](Value base, Value elements) -> Value {
    return LLVM::GEPOp::create(b, loc, pointerType, shape.element, base,
                               ValueRange{toI64(elements)},
                               LLVM::GEPNoWrapFlags::inbounds);
  };
  std::optional<Binding> viewB;
  if (shape.source == ContractionShape::Source::InPlace)
    viewB = view(operandB->get());
  Value packed =
      needsK ? stackArray(shape.element, blockDepth * columns) : Value();
  Value block = stackArray(shape.element, shape.blockRows * columns);
  // Splitting a column number over several dims takes divisions: once per item.
  SmallVector<Binding> columnTables;
  if (shape.columnDims.size() > 1)
    for (size_t i = 0; i < shape.columnDims.size(); ++i) {
      Binding table;
      table.pointer = stackArray(b.getI64Type(), columns);
      table.element = b.getI64Type();
      table.strides = {constant(1)};
      table.buffer = ~0u;
      columnTables.push_back(table);
    }
  // A's k dims as one, if its strides allow it.
  bool flatDepth = true;
  for (size_t i = 0; i + 1 < shape.dims.k.size(); ++i) {
    unsigned outer = shape.dims.k[i], inner = shape.dims.k[i + 1];
    std::optional<int64_t> step = getConstantIntValue(
                               strideOf(viewA, mapA, outer)),
                           next = getConstantIntValue(
                               strideOf(viewA, mapA, inner));
    const Extent &size = node.domain[inner];
    flatDepth &=
        step && next && size.isStatic() && *step == *next * size.factor;
  }
  bool initIsZero = false;
  if (auto fillOp = op.getDpsInits()[0].getDefiningOp<linalg::GenericOp>())
    if (auto yield = dyn_cast<linalg::YieldOp>(fillOp.getBody()->front()))
      if (fillOp.getNumDpsInputs() == 1) {
        Value value = fillOp.getDpsInputs()[0];
        initIsZero = matchPattern(value, m_AnyZeroFloat()) &&
                     yield.getOperand(0) == fillOp.getBody()->getArgument(0);
      }

  forEach(begin, end, [&](Value item) {
    Value panel = rem(item, shape.panels);
    Value rest = div(item, shape.panels);
    Value rowBegin = mul(rem(rest, shape.rowBlocks), constant(shape.blockRows));
    SmallVector<Value> dims(node.domain.size(), constant(0));
    setDims(dims, shape.outerDims, div(rest, shape.rowBlocks));
    Value columnBegin = mul(panel, constant(columns));
    Value validColumns = min(sub(columnCount, columnBegin), constant(columns));
    Value validRows = min(sub(rowCount, rowBegin), constant(shape.blockRows));
    if (shape.rows.isStatic() && shape.rows.factor % shape.blockRows == 0)
      validRows = constant(shape.blockRows);
    bool wholeColumns =
        shape.width.isStatic() && shape.width.factor % columns == 0;
    if (wholeColumns)
      validColumns = constant(columns);
    bool wholeRows =
        shape.rows.isStatic() && shape.rows.factor % shape.tileRows == 0;

    auto setColumn = [&](SmallVector<Value> &into, Value column) {
      if (columnTables.empty())
        into[columnDim] = add(columnBegin, column);
      for (auto [dim, table] : llvm::zip(shape.columnDims, columnTables))
        into[dim] = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                               load(table, {column}));
    };
    if (!columnTables.empty())
      forEach(constant(0), validColumns, [&](Value column) {
        SmallVector<Value> position(dims);
        setDims(position, shape.columnDims, add(columnBegin, column));
        for (auto [dim, table] : llvm::zip(shape.columnDims, columnTables))
          store(toI64(position[dim]), table, {column});
      });

    // Where B's row for k = 0 starts, and how far the next one is.
    Value pointerB, strideB;
    SmallVector<Value> strideBs;
    SmallVector<Value> masks;
    if (shape.source == ContractionShape::Source::Panels) {
      const Binding &binding = bindings[operandB->get()];
      int64_t width = binding.panel.width;
      Value start = add(mul(div(columnBegin, constant(width)),
                            mul(binding.panelRows, constant(width))),
                        rem(columnBegin, constant(width)));
      pointerB = offsetPointer(binding.pointer, start);
      strideB = constant(width);
    } else if (shape.source == ContractionShape::Source::InPlace) {
      dims[columnDim] = columnBegin;
      pointerB = elementPointer(*viewB, indicesOf(mapB, dims));
      if (shape.dims.k.size() == 1)
        strideB = strideOf(*viewB, mapB, shape.dims.k[0]);
      if (!wholeColumns)
        for (int64_t v = 0; v < shape.vectors; ++v) {
          SmallVector<int32_t> lanes;
          for (int64_t lane = 0; lane < shape.lanes; ++lane)
            lanes.push_back(v * shape.lanes + lane);
          Value positions =
              arith::ConstantOp::create(b, loc, b.getI32VectorAttr(lanes));
          Value count =
              arith::IndexCastOp::create(b, loc, b.getI32Type(), validColumns);
          Value counts =
              vector::BroadcastOp::create(b, loc, positions.getType(), count);
          masks.push_back(arith::CmpIOp::create(
              b, loc, arith::CmpIPredicate::slt, positions, counts));
        }
    } else {
      pointerB = packed;
      strideB = constant(columns);
    }

    auto runBlock = [&](Value depthBegin, Value depthEnd, bool isFirst) {
      if (needsK)
        // The loop runs along B's contiguous direction where it is known.
        forEach(depthBegin, depthEnd, [&](Value k) {
          SmallVector<Value> inner(dims);
          setDims(inner, shape.dims.k, k);
          auto writeColumn = [&](Value column, Value value) {
            Value position =
                add(mul(sub(k, depthBegin), constant(columns)), column);
            LLVM::StoreOp::create(b, loc, value,
                                  offsetPointer(packed, position));
          };
          forEach(constant(0), validColumns, [&](Value column) {
            setColumn(inner, column);
            writeColumn(column, at(operandB->get(), indicesOf(mapB, inner)));
          });
          if (!wholeColumns)
            forEach(validColumns, constant(columns), [&](Value column) {
              writeColumn(column, zero(shape.element));
            });
        });
      loop(constant(0), validRows, shape.tileRows, {},
           [&](Value tile, ValueRange) {
             // A's rows; those beyond the last are the last.
             SmallVector<Value> pointerA;
             for (int64_t r = 0; r < shape.tileRows; ++r) {
               Value row = add(add(rowBegin, tile), constant(r));
               if (!wholeRows)
                 row = min(row, sub(rowCount, constant(1)));
               SmallVector<Value> here(dims);
               for (unsigned dim : shape.dims.n)
                 here[dim] = constant(0);
               setDims(here, shape.dims.m, row);
               for (unsigned dim : shape.dims.k)
                 here[dim] = constant(0);
               pointerA.push_back(elementPointer(viewA, indicesOf(mapA, here)));
             }
             SmallVector<Value> start;
             auto accumulator = [&](int64_t r, int64_t v) {
               Value position =
                   add(mul(add(tile, constant(r)), constant(columns)),
                       constant(v * shape.lanes));
               return offsetPointer(block, position);
             };
             for (int64_t r = 0; r < shape.tileRows; ++r)
               for (int64_t v = 0; v < shape.vectors; ++v)
                 start.push_back(
                     isFirst ? zero(vectorType)
                             : Value(LLVM::LoadOp::create(
                                   b, loc, vectorType, accumulator(r, v),
                                   options.vectorBytes)));
             SmallVector<Value> sums = loop(
                 depthBegin, depthEnd, 1, start,
                 [&](Value k, ValueRange carried) {
                   SmallVector<Value> kDims(node.domain.size(), constant(0));
                   if (!flatDepth || !strideB)
                     setDims(kDims, shape.dims.k, k);
                   Value offsetA = constant(0), offsetB;
                   if (flatDepth)
                     offsetA =
                         mul(k, strideOf(viewA, mapA, shape.dims.k.back()));
                   else
                     for (unsigned dim : shape.dims.k)
                       offsetA = add(offsetA, mul(kDims[dim],
                                                  strideOf(viewA, mapA, dim)));
                   if (strideB) {
                     offsetB = mul(needsK ? sub(k, depthBegin) : k, strideB);
                   } else {
                     offsetB = constant(0);
                     for (unsigned dim : shape.dims.k)
                       offsetB = add(offsetB, mul(kDims[dim],
                                                  strideOf(*viewB, mapB, dim)));
                   }
                   SmallVector<Value> rowB;
                   Value rowPointer = offsetPointer(pointerB, offsetB);
                   for (int64_t v = 0; v < shape.vectors; ++v) {
                     Value address =
                         offsetPointer(rowPointer, constant(v * shape.lanes));
                     if (masks.empty()) {
                       rowB.push_back(LLVM::LoadOp::create(b, loc, vectorType,
                                                           address, bytes));
                     } else {
                       rowB.push_back(LLVM::MaskedLoadOp::create(
                           b, loc, vectorType, address, masks[v],
                           zero(vectorType), b.getI32IntegerAttr(bytes)));
                     }
                   }
                   SmallVector<Value> next;
                   for (int64_t r = 0; r < shape.tileRows; ++r) {
                     Value element = LLVM::LoadOp::create(
                         b, loc, shape.element,
                         offsetPointer(pointerA[r], offsetA));
                     Value spread = vector::BroadcastOp::create(
                         b, loc, vectorType, element);
                     for (int64_t v = 0; v < shape.vectors; ++v)
                       next.push_back(vector::FMAOp::create(
                           b, loc, spread, rowB[v],
                           carried[r * shape.vectors + v]));
                   }
                   return next;
                 });
             for (int64_t r = 0; r < shape.tileRows; ++r)
               for (int64_t v = 0; v < shape.vectors; ++v)
                 LLVM::StoreOp::create(b, loc, sums[r * shape.vectors + v],
                                       accumulator(r, v), options.vectorBytes);
             return SmallVector<Value>();
           });
    };
    if (oneBlock) {
      runBlock(constant(0), depth, true);
    } else {
      // The first block starts the sums, so it always runs.
      runBlock(constant(0), min(depth, constant(blockDepth)), true);
      loop(constant(blockDepth), depth, blockDepth, {},
           [&](Value depthBegin, ValueRange) {
             runBlock(depthBegin,
                      min(add(depthBegin, constant(blockDepth)), depth), false);
             return SmallVector<Value>();
           });
    }

    // The epilogue: the product's readers, element by element.
    Value product = op.getResult(0);
    std::optional<Binding> saved;
    if (auto it = bindings.find(product); it != bindings.end())
      saved = it->second;
    forEach(constant(0), validRows, [&](Value row) {
      SmallVector<Value> here(dims);
      for (unsigned dim : shape.dims.k)
        here[dim] = constant(0);
      setDims(here, shape.dims.m, add(rowBegin, row));
      forEach(constant(0), validColumns, [&](Value column) {
        setColumn(here, column);
        Binding tile;
        tile.pointer = block;
        tile.element = shape.element;
        tile.buffer = ~0u;
        tile.strides = {constant(columns), constant(1)};
        Value value = load(tile, {row, column});
        if (!initIsZero)
          value = arith::AddFOp::create(
              b, loc, value, at(op.getDpsInits()[0], outIndices(node, here)));
        bindings[product].scalar = value;
        SmallVector<std::tuple<Value, Binding, SmallVector<Value>>> stores;
        if (node.returned[0] >= 0)
          stores.push_back({value, resultBindings[node.returned[0]],
                            outIndices(node, here)});
        else if (graph.storage.lookup(product) != Storage::Register)
          stores.push_back({value, bindings[product], outIndices(node, here)});
        // Row variables say which of the readers' dims is which.
        RowRange range;
        for (unsigned dim : node.rowDims)
          range.indices.push_back(here[dim]);
        SmallVector<Value> bound;
        for (Node *reader : stage.nodes) {
          if (reader == &node)
            continue;
          loc = reader->loc;
          SmallVector<Value> indices =
              outIndices(*reader, startDims(stage, *reader, range));
          Value result = definitionAt(reader->results[0], indices);
          if (reader->returned[0] >= 0)
            stores.push_back(
                {result, resultBindings[reader->returned[0]], indices});
          else if (graph.storage.lookup(reader->results[0]) !=
                   Storage::Register)
            stores.push_back({result, bindings[reader->results[0]], indices});
          if (graph.keptBy.lookup(reader->results[0]) == reader) {
            bindings[reader->results[0]].scalar = result;
            bound.push_back(reader->results[0]);
          }
        }
        for (auto &[stored, binding, indices] : stores) {
          Binding target = binding;
          target.scalar = Value();
          store(stored, target, indices);
        }
        for (Value value : bound)
          bindings[value].scalar = Value();
        bindings[product].scalar = Value();
      });
    });
  });
}

} // namespace oneflow::cpu
