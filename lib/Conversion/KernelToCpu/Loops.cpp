//===- Loops.cpp - pointwise and row stages -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pointwise stage is one loop nest in which all results of the stage are
// computed and stored per element, with as many dims as possible run as one. A
// row stage emits its nodes one after the other for each row, or for a block of
// rows at a time (lanes) where memory is contiguous along the rows.
//
// How rows fall into items is fixed by the shapes alone, and all sums run over
// whole rows: results do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace oneflow::cpu {

/// Elements that an item should at least have, so that handing it out is cheap.
constexpr int64_t kItemElements = 8192;
/// Elements per item when one row is cut; a multiple of any vector length.
constexpr int64_t kChunk = 16384;

/// Side of a tile where an operand is transposed. With strides of a power of
/// two all lines of a tile fall into one set of the first-level cache; it has 8
/// or 12 ways.
constexpr int64_t kTile = 8;

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

bool KernelEmitter::canCollapse(Stage &stage, unsigned v) {
  for (Node *node : stage.nodes) {
    unsigned outer = node->rowDims[v], inner = node->rowDims[v + 1];
    for (Operation *op : graph.inlinedBy(*node))
      if (op->walk([](linalg::IndexOp) {
              return WalkResult::interrupt();
            }).wasInterrupted())
        return false;
    if (inner != outer + 1)
      return false;
    for (int returned : node->returned)
      if (returned >= 0 && panelOfResult(graph.kernel, returned).width)
        return false;
    for (Access &access : node->accesses) {
      if (auto argument = dyn_cast<BlockArgument>(access.tensor))
        if (panelOfArgument(argument).width)
          return false;
      bool uses = false, adjacent = false;
      Extents shape = graph.shapeOf(access.tensor);
      for (auto [position, expr] : llvm::enumerate(access.indices)) {
        if (!expr)
          return false;
        if (!expr.isFunctionOfDim(outer) && !expr.isFunctionOfDim(inner))
          continue;
        auto dim = dyn_cast<AffineDimExpr>(expr);
        if (!dim)
          return false;
        if (dim.getPosition() == outer) {
          if (uses)
            return false;
          auto next = position + 1 < access.indices.size()
                          ? dyn_cast_or_null<AffineDimExpr>(
                                access.indices[position + 1])
                          : AffineDimExpr(nullptr);
          adjacent = next && next.getPosition() == inner &&
                     shape[position + 1] == stage.rows[v + 1];
          uses = true;
        } else if (!(adjacent && position > 0 && uses &&
                     access.indices[position - 1] ==
                         getAffineDimExpr(outer, b.getContext()))) {
          return false;
        }
      }
      if (uses && !adjacent)
        return false;
    }
  }
  return true;
}

KernelEmitter::PointwiseShape KernelEmitter::pointwiseShape(Stage &stage) {
  PointwiseShape shape;
  for (unsigned v = 0; v < stage.rows.size(); ++v) {
    if (v && canCollapse(stage, v - 1))
      shape.groups.back().push_back(v);
    else
      shape.groups.push_back({v});
  }
  shape.tiled = findTransposed(stage, shape);
  Extent inner, rows, tile;
  for (auto [n, group] : llvm::enumerate(shape.groups))
    for (unsigned v : group) {
      Extent &into = n + 1 == shape.groups.size() ? inner
                     : shape.tiled == n           ? tile
                                                  : rows;
      into = into * stage.rows[v];
    }
  shape.inner = extent(inner);
  shape.rows = extent(rows);
  if (shape.tiled) {
    shape.tileExtent = extent(tile);
    shape.tilesPerRow = ceilDiv(shape.tileExtent, kTile);
    shape.rows = mul(shape.rows, shape.tilesPerRow);
    shape.onePerRow = false;
    shape.rowsPerItem =
        max(div(constant(kItemElements / kTile), max(shape.inner, constant(1))),
            constant(1));
    shape.items = div(add(shape.rows, sub(shape.rowsPerItem, constant(1))),
                      shape.rowsPerItem);
    return shape;
  }
  shape.onePerRow =
      rows.isOne() || (inner.isStatic() && inner.factor >= 2 * kChunk);
  if (shape.onePerRow) {
    shape.rowsPerItem = constant(1);
    shape.itemsPerRow = ceilDiv(shape.inner, kChunk);
    shape.items = mul(shape.rows, shape.itemsPerRow);
    return shape;
  }
  shape.itemsPerRow = constant(1);
  shape.rowsPerItem = max(
      div(constant(kItemElements), max(shape.inner, constant(1))), constant(1));
  shape.items = div(add(shape.rows, sub(shape.rowsPerItem, constant(1))),
                    shape.rowsPerItem);
  return shape;
}

std::optional<unsigned>
KernelEmitter::findTransposed(Stage &stage, const PointwiseShape &shape) {
  for (Node *node : stage.nodes)
    for (Access &access : node->accesses) {
      if (access.indices.empty())
        continue;
      auto last = dyn_cast_or_null<AffineDimExpr>(access.indices.back());
      // What is read once for a whole inner loop needs no tile.
      bool variesInside =
          !shape.groups.empty() &&
          llvm::any_of(access.indices, [&](AffineExpr expr) {
            return llvm::any_of(shape.groups.back(), [&](unsigned v) {
              return expr && expr.isFunctionOfDim(node->rowDims[v]);
            });
          });
      if (!variesInside)
        continue;
      for (unsigned n = 0; last && n + 1 < shape.groups.size(); ++n)
        if (node->rowDims[shape.groups[n].back()] == last.getPosition() &&
            access.indices.size() > 1)
          return n;
    }
  return std::nullopt;
}

void KernelEmitter::emitTiles(Stage &stage, const PointwiseShape &shape,
                              Value begin, Value end) {
  SmallVector<unsigned> outerGroups;
  SmallVector<Value> sizes;
  for (unsigned n = 0; n + 1 < shape.groups.size(); ++n) {
    if (n == *shape.tiled)
      continue;
    Extent size;
    for (unsigned v : shape.groups[n])
      size = size * stage.rows[v];
    outerGroups.push_back(n);
    sizes.push_back(extent(size));
  }
  Value side = constant(kTile);
  forEach(
      mul(begin, shape.rowsPerItem),
      min(mul(end, shape.rowsPerItem), shape.rows), [&](Value unit) {
        SmallVector<Value> indices(stage.rows.size(), constant(0));
        Value row = div(unit, shape.tilesPerRow);
        for (auto [n, value] : llvm::zip(outerGroups, delinearize(row, sizes)))
          indices[shape.groups[n].back()] = value;
        Value first = mul(rem(unit, shape.tilesPerRow), side);
        Value limit = min(add(first, side), shape.tileExtent);
        loop(constant(0), shape.inner, kTile, {}, [&](Value from, ValueRange) {
          Value to = min(add(from, side), shape.inner);
          forEach(first, limit, [&](Value outer) {
            indices[shape.groups[*shape.tiled].back()] = outer;
            forEach(
                from, to,
                [&](Value position) {
                  indices[shape.groups.back().back()] = position;
                  emitPointwiseElement(stage, indices);
                },
                /*parallel=*/true);
          });
          return SmallVector<Value>();
        });
      });
}

void KernelEmitter::emitPointwiseElement(Stage &stage,
                                         ArrayRef<Value> rowIndices) {
  // Everything is computed before anything is stored: a result may be in the
  // buffer of an operand.
  SmallVector<std::tuple<Value, Binding, SmallVector<Value>>> stores;
  SmallVector<Value> bound;
  for (Node *node : stage.nodes) {
    RowRange row;
    row.indices.assign(rowIndices.begin(), rowIndices.end());
    SmallVector<Value> dims = startDims(stage, *node, row);
    SmallVector<Value> indices = outIndices(*node, dims);
    loc = node->loc;
    for (auto [result, returned] : llvm::zip(node->results, node->returned)) {
      Value value = definitionAt(result, indices);
      if (returned >= 0)
        stores.push_back({value, resultBindings[returned], indices});
      else if (graph.storage.lookup(result) != Storage::Register)
        stores.push_back({value, bindings[result], indices});
      if (graph.keptBy.lookup(result) == node) {
        bindings[result].scalar = value;
        bound.push_back(result);
      }
    }
  }
  for (auto &[value, binding, indices] : stores)
    store(value, binding, indices);
  for (Value value : bound)
    bindings[value].scalar = Value();
}

void KernelEmitter::emitPointwise(Stage &stage, Value begin, Value end) {
  PointwiseShape shape = pointwiseShape(stage);
  accessGroup = LLVM::AccessGroupAttr::get(b.getContext());
  auto run = [&](Value row, Value from, Value to) {
    SmallVector<Value> sizes;
    ArrayRef<SmallVector<unsigned>> groups = shape.groups;
    for (const auto &group : groups.drop_back(groups.empty() ? 0 : 1)) {
      Extent size;
      for (unsigned v : group)
        size = size * stage.rows[v];
      sizes.push_back(extent(size));
    }
    SmallVector<Value> outer = delinearize(row, sizes);
    forEach(
        from, to,
        [&](Value position) {
          SmallVector<Value> indices(stage.rows.size(), constant(0));
          for (auto [n, group] : llvm::enumerate(groups))
            indices[group.back()] = n < outer.size() ? outer[n] : position;
          emitPointwiseElement(stage, indices);
        },
        /*parallel=*/true);
  };
  if (shape.tiled) {
    emitTiles(stage, shape, begin, end);
  } else if (!shape.onePerRow) {
    forEach(mul(begin, shape.rowsPerItem),
            min(mul(end, shape.rowsPerItem), shape.rows),
            [&](Value row) { run(row, constant(0), shape.inner); });
  } else if (getConstantIntValue(shape.rows) == 1) {
    run(constant(0), mul(begin, constant(kChunk)),
        min(mul(end, constant(kChunk)), shape.inner));
  } else {
    forEach(begin, end, [&](Value item) {
      Value first = mul(rem(item, shape.itemsPerRow), constant(kChunk));
      run(div(item, shape.itemsPerRow), first,
          min(add(first, constant(kChunk)), shape.inner));
    });
  }
  accessGroup = {};
}

void KernelEmitter::emitPadding(Node &node, Value begin, Value end) {
  for (auto [result, returned] : llvm::zip(node.results, node.returned)) {
    if (returned < 0)
      continue;
    Binding binding = resultBindings[returned];
    if (!binding.panel.width)
      continue;
    Value size = extent(graph.shapeOf(result)[binding.panel.dim]);
    Value padded =
        mul(ceilDiv(size, binding.panel.width), constant(binding.panel.width));
    if (padded == size)
      continue;
    // The first item fills what no element falls on.
    forEach(begin, min(end, constant(1)), [&](Value) {
      forEach(constant(0), binding.panelRows, [&](Value other) {
        forEach(size, padded, [&](Value along) {
          SmallVector<Value> indices{other, other};
          indices[binding.panel.dim] = along;
          store(zero(binding.element), binding, indices);
        });
      });
    });
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Value KernelEmitter::rowsPerItem(Stage &stage) {
  // The widest node of the stage says how much work a row is.
  Extent widest;
  for (Node *node : stage.nodes) {
    Extent inner;
    for (auto [dim, size] : llvm::enumerate(node->domain))
      if (!llvm::is_contained(node->rowDims, static_cast<unsigned>(dim)))
        inner = inner * size;
    if (!inner.isStatic() || inner.factor > widest.factor)
      widest = inner;
  }
  return max(div(constant(kItemElements), max(extent(widest), constant(1))),
             constant(1));
}

Value KernelEmitter::rowItems(Stage &stage) {
  Extent rows;
  for (unsigned v = 0; v + (stage.lanes ? 1 : 0) < stage.rows.size(); ++v)
    rows = rows * stage.rows[v];
  if (stage.lanes)
    return mul(extent(rows), ceilDiv(extent(stage.rows.back()), kLanes));
  Value perItem = rowsPerItem(stage);
  return div(add(extent(rows), sub(perItem, constant(1))), perItem);
}

void KernelEmitter::emitRows(Stage &stage, Value begin, Value end) {
  SmallVector<Value> sizes;
  Extent rows;
  for (unsigned v = 0; v + (stage.lanes ? 1 : 0) < stage.rows.size(); ++v) {
    sizes.push_back(extent(stage.rows[v]));
    rows = rows * stage.rows[v];
  }
  auto emitNodes = [&](const RowRange &row) {
    SmallVector<Value> bound;
    for (Node *node : stage.nodes) {
      loc = node->loc;
      emitRowNode(stage, *node, row);
    }
    for (Node *node : stage.nodes)
      for (Value result : node->results)
        if (bindings.count(result))
          bindings[result].scalar = Value();
  };
  if (!stage.lanes) {
    Value perItem = rowsPerItem(stage);
    forEach(mul(begin, perItem), min(mul(end, perItem), extent(rows)),
            [&](Value position) {
              emitNodes({delinearize(position, sizes), Value(), Value()});
            });
    return;
  }
  Value last = extent(stage.rows.back());
  Value blocks = ceilDiv(last, kLanes);
  forEach(begin, end, [&](Value item) {
    RowRange row;
    row.indices = delinearize(div(item, blocks), sizes);
    row.indices.push_back(Value());
    row.laneBegin = mul(rem(item, blocks), constant(kLanes));
    std::optional<int64_t> size = getConstantIntValue(last);
    row.laneCount = size && *size % kLanes == 0
                        ? constant(kLanes)
                        : min(sub(last, row.laneBegin), constant(kLanes));
    // Temporaries of a block are indexed from its first lane.
    SmallVector<std::pair<Value, Value>> saved;
    for (Node *node : stage.nodes)
      for (Value result : node->results)
        if (graph.storage.lookup(result) == Storage::RowStack &&
            graph.storage.count(result)) {
          saved.push_back({result, bindings[result].offset});
          bindings[result].offset = sub(constant(0), row.laneBegin);
        }
    emitNodes(row);
    for (auto [result, offset] : saved)
      bindings[result].offset = offset;
  });
}

SmallVector<Value> KernelEmitter::startDims(Stage &stage, Node &node,
                                            const RowRange &row) {
  SmallVector<Value> dims(node.domain.size());
  for (auto [dim, size] : llvm::enumerate(node.domain))
    if (size.isOne())
      dims[dim] = constant(0);
  for (auto [dim, value] : llvm::zip(node.rowDims, row.indices))
    dims[dim] = value;
  return dims;
}

SmallVector<Value> KernelEmitter::outIndices(Node &node, ArrayRef<Value> dims) {
  SmallVector<Value> indices;
  for (int dim : node.outDims)
    indices.push_back(dim < 0 ? constant(0) : dims[dim]);
  return indices;
}

void KernelEmitter::nest(ArrayRef<unsigned> loops, Node &node,
                         SmallVector<Value> &dims,
                         const std::function<void()> &body) {
  if (loops.empty())
    return body();
  forEach(constant(0), extent(node.domain[loops.front()]), [&](Value index) {
    dims[loops.front()] = index;
    nest(loops.drop_front(), node, dims, body);
  });
}

void KernelEmitter::laneLoop(Node &node, const RowRange &row,
                             SmallVector<Value> &dims,
                             const std::function<void()> &body) {
  if (!row.laneBegin)
    return body();
  forEach(constant(0), row.laneCount, [&](Value lane) {
    dims[node.rowDims.back()] = add(row.laneBegin, lane);
    body();
  });
}

std::optional<unsigned>
KernelEmitter::contiguousInner(Node &node, ArrayRef<unsigned> inner) {
  const Access *widest = nullptr;
  for (const Access &access : node.accesses)
    if (!widest || access.indices.size() > widest->indices.size())
      widest = &access;
  if (!widest || widest->indices.empty())
    return std::nullopt;
  auto last = dyn_cast_or_null<AffineDimExpr>(widest->indices.back());
  if (last && llvm::is_contained(inner, last.getPosition()))
    return last.getPosition();
  return std::nullopt;
}

void KernelEmitter::emitRowNode(Stage &stage, Node &node, const RowRange &row) {
  SmallVector<Value> dims = startDims(stage, node, row);
  if (node.reduction)
    return emitRowReduction(stage, node, row, dims);
  SmallVector<unsigned> inner;
  for (unsigned dim = 0; dim < dims.size(); ++dim)
    if (!dims[dim] && !llvm::is_contained(node.rowDims, dim))
      inner.push_back(dim);
  Value result = node.results.front();
  int returned = node.returned.front();
  bool isScalar = inner.empty() && !row.laneBegin;
  nest(inner, node, dims, [&] {
    laneLoop(node, row, dims, [&] {
      SmallVector<Value> indices = outIndices(node, dims);
      Value value = definitionAt(result, indices);
      bool kept = graph.keptBy.lookup(result) == &node;
      if (returned >= 0)
        store(value, resultBindings[returned], indices);
      else if (graph.storage.lookup(result) != Storage::Register)
        store(value, bindings[result], indices);
      if (kept && isScalar)
        bindings[result].scalar = value;
    });
  });
}

/// Lets the loop vectorizer reorder the sum: the op that makes the next
/// accumulator out of the last one.
static void allowReassociation(Value next) {
  auto allow = [](auto op) {
    op.setFastmath(op.getFastmath() | arith::FastMathFlags::reassoc |
                   arith::FastMathFlags::contract);
  };
  if (auto op = next.getDefiningOp<arith::AddFOp>())
    allow(op);
  else if (auto op = next.getDefiningOp<arith::MulFOp>())
    allow(op);
}

void KernelEmitter::emitRowReduction(Stage &stage, Node &node,
                                     const RowRange &row,
                                     SmallVector<Value> dims) {
  linalg::GenericOp op = node.reduction;
  SmallVector<unsigned> inner, reduced;
  for (unsigned dim = 0; dim < dims.size(); ++dim) {
    if (dims[dim] || llvm::is_contained(node.rowDims, dim))
      continue;
    (node.reduced[dim] ? reduced : inner).push_back(dim);
  }
  auto initialValues = [&] {
    SmallVector<Value> values;
    for (Value init : op.getDpsInits())
      values.push_back(at(init, outIndices(node, dims)));
    return values;
  };
  std::optional<unsigned> lane;
  if (!row.laneBegin)
    lane = contiguousInner(node, inner);
  if (!row.laneBegin && !lane) {
    // Accumulators in registers.
    nest(inner, node, dims, [&] {
      std::function<SmallVector<Value>(ArrayRef<unsigned>, ValueRange)> reduce =
          [&](ArrayRef<unsigned> loops, ValueRange carried) {
            if (loops.empty()) {
              SmallVector<Value> accumulators(carried);
              SmallVector<Value> next = emitBody(op, dims, accumulators);
              for (Value value : next)
                allowReassociation(value);
              return next;
            }
            return loop(constant(0), extent(node.domain[loops.front()]), 1,
                        carried, [&](Value index, ValueRange inside) {
                          dims[loops.front()] = index;
                          return reduce(loops.drop_front(), inside);
                        });
          };
      SmallVector<Value> start = initialValues();
      SmallVector<Value> totals = reduce(reduced, start);
      SmallVector<Value> indices = outIndices(node, dims);
      for (auto [result, returned, value] :
           llvm::zip(node.results, node.returned, totals)) {
        if (returned >= 0)
          store(value, resultBindings[returned], indices);
        else if (!inner.empty() ||
                 graph.storage.lookup(result) != Storage::Register)
          store(value, bindings[result], indices);
        if (inner.empty())
          bindings[result].scalar = value;
      }
    });
    return;
  }
  // Accumulators in memory, one per lane: the innermost loop runs along memory
  // and vectorizes without any reordering.
  auto binding = [&](unsigned n) {
    return node.returned[n] >= 0 ? resultBindings[node.returned[n]]
                                 : bindings[node.results[n]];
  };
  auto runLanes = [&](const std::function<void()> &body) {
    if (row.laneBegin)
      return laneLoop(node, row, dims, body);
    forEach(constant(0), extent(node.domain[*lane]), [&](Value index) {
      dims[*lane] = index;
      body();
    });
  };
  if (lane)
    llvm::erase(inner, *lane);
  nest(inner, node, dims, [&] {
    runLanes([&] {
      for (auto [n, value] : llvm::enumerate(initialValues()))
        store(value, binding(n), outIndices(node, dims));
    });
    nest(reduced, node, dims, [&] {
      runLanes([&] {
        SmallVector<Value> indices = outIndices(node, dims), accumulators;
        for (unsigned n = 0; n < node.results.size(); ++n)
          accumulators.push_back(load(binding(n), indices));
        for (auto [n, value] :
             llvm::enumerate(emitBody(op, dims, accumulators)))
          store(value, binding(n), indices);
      });
    });
  });
}

} // namespace oneflow::cpu
