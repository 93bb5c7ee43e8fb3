//===- KernelEmitter.h - loops and memory accesses of one kernel -*- C++ -*-==//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits a kernel, as grouped by KernelGraph, into the body of an llvm.func:
// scf loops, arith and vector ops, llvm loads and stores. ToLLVM.cpp turns the
// rest into the llvm dialect afterwards. Implemented in Values.cpp (a tensor at
// an index), Loops.cpp (pointwise and row stages), Contractions.cpp,
// Scatter.cpp and KernelEmitter.cpp (buffers, items, the function itself).
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_CONVERSION_KERNELTOCPU_KERNELEMITTER_H
#define ONEFLOW_LIB_CONVERSION_KERNELTOCPU_KERNELEMITTER_H

#include "KernelGraph.h"

#include "oneflow/Conversion/KernelToCpu.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include <functional>
#include <map>

namespace oneflow::cpu {

using mlir::Location;
using mlir::Value;
using mlir::ValueRange;

/// Where a tensor's elements are: in a register (`scalar`, the element of the
/// current row) or in memory.
struct Binding {
  Value scalar;
  Value pointer;
  mlir::Type element;
  /// In elements, one per dim, of type index.
  SmallVector<Value, 4> strides;
  /// Added to the linear index; null for zero.
  Value offset;
  PanelLayout panel;
  /// K of the panel layout: the extent of the other dim.
  Value panelRows;
  /// Number of the buffer, for alias scopes.
  unsigned buffer = 0;
};

class KernelEmitter {
public:
  KernelEmitter(KernelGraph &graph, const LowerKernelsOptions &options)
      : graph(graph), options(options), b(graph.kernel.getContext()),
        prologue(graph.kernel.getContext()) {}

  /// Emits the two functions before the kernel, which the caller erases.
  mlir::LogicalResult
  emit(llvm::SmallVectorImpl<mlir::LLVM::LLVMFuncOp> &functions);

private:
  using Key = std::pair<void *, SmallVector<void *, 4>>;
  using LoopBody =
      std::function<SmallVector<Value>(Value index, ValueRange carried)>;

  // KernelEmitter.cpp
  mlir::LLVM::LLVMFuncOp beginFunction(llvm::StringRef name, mlir::Type result,
                                       ArrayRef<mlir::Type> arguments);
  void reset();
  void endFunction();
  void bindBuffers();
  void bindLocal(Node &node, unsigned result);
  void findShareable();
  void emitItems();
  Value stageItems(Stage &stage);
  void emitStage(Stage &stage, Value begin, Value end);

  // Index arithmetic at the current insertion point, folded.
  Value constant(int64_t value);
  Value add(Value lhs, Value rhs);
  Value sub(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value div(Value lhs, Value rhs);
  Value rem(Value lhs, Value rhs);
  Value ceilDiv(Value lhs, int64_t rhs);
  Value min(Value lhs, Value rhs);
  Value max(Value lhs, Value rhs);
  Value affine(mlir::AffineExpr expr, ArrayRef<Value> dims);
  Value toI64(Value index);
  /// An extent as a value, computed once in the prologue.
  Value extent(const Extent &extent);
  /// Splits a row-major index over `extents`; the first is not reduced.
  SmallVector<Value> delinearize(Value index, ArrayRef<Value> extents);

  // Memory.
  Value elementPointer(const Binding &binding, ArrayRef<Value> indices);
  Value linearIndex(const Binding &binding, ArrayRef<Value> indices);
  Value load(const Binding &binding, ArrayRef<Value> indices);
  void store(Value value, const Binding &binding, ArrayRef<Value> indices);
  Value stackArray(mlir::Type element, int64_t count);
  template <typename Op> void tagAccess(Op op, unsigned buffer);
  unsigned newScope();

  /// A loop, with its body in a scope of its own. `parallel` promises that
  /// iterations are independent even where buffers are shared.
  SmallVector<Value> loop(Value begin, Value end, int64_t step,
                          ValueRange carried, const LoopBody &body,
                          bool parallel = false);
  void forEach(Value begin, Value end, const std::function<void(Value)> &body,
               bool parallel = false);

  // Values.cpp
  Value at(Value tensor, ArrayRef<Value> indices);
  Value definitionAt(Value tensor, ArrayRef<Value> indices);
  SmallVector<Value> genericAt(mlir::linalg::GenericOp op,
                               ArrayRef<Value> dims);
  SmallVector<Value> emitBody(mlir::linalg::GenericOp op, ArrayRef<Value> dims,
                              ArrayRef<Value> accumulators);
  void cloneBodyOp(mlir::Operation &op, ArrayRef<Value> dims,
                   mlir::IRMapping &mapping);
  Value scalar(Value source);
  Value index(mlir::OpFoldResult value);
  Value constantAt(mlir::arith::ConstantOp op, ArrayRef<Value> indices);
  Value choose(Value condition, const std::function<Value()> &then,
               const std::function<Value()> &otherwise);
  Value zero(mlir::Type type);
  void checkInRange(Value condition);

  // Loops.cpp
  struct RowRange {
    SmallVector<Value> indices; // per row variable; null for the lanes
    Value laneBegin, laneCount;
  };
  struct PointwiseShape {
    SmallVector<SmallVector<unsigned>> groups; // row variables run as one loop
    Value inner, rows, rowsPerItem, itemsPerRow, chunk, items;
    bool onePerRow = true;
    /// A group along which some operand is contiguous though the innermost loop
    /// is not: run in square tiles with it.
    std::optional<unsigned> tiled;
    Value tileExtent, tilesPerRow;
  };
  std::optional<unsigned> findTransposed(Stage &stage,
                                         const PointwiseShape &shape);
  void emitTiles(Stage &stage, const PointwiseShape &shape, Value begin,
                 Value end);
  PointwiseShape pointwiseShape(Stage &stage);
  bool canCollapse(Stage &stage, unsigned v);
  void emitPointwise(Stage &stage, Value begin, Value end);
  void emitPointwiseElement(Stage &stage, ArrayRef<Value> rowIndices);
  Value rowsPerItem(Stage &stage);
  Value rowItems(Stage &stage);
  void emitRows(Stage &stage, Value begin, Value end);
  void emitRowNode(Stage &stage, Node &node, const RowRange &row);
  void emitRowReduction(Stage &stage, Node &node, const RowRange &row,
                        SmallVector<Value> dims);
  SmallVector<Value> startDims(Stage &stage, Node &node, const RowRange &row);
  SmallVector<Value> outIndices(Node &node, ArrayRef<Value> dims);
  void nest(ArrayRef<unsigned> loops, Node &node, SmallVector<Value> &dims,
            const std::function<void()> &body);
  void laneLoop(Node &node, const RowRange &row, SmallVector<Value> &dims,
                const std::function<void()> &body);
  std::optional<unsigned> contiguousInner(Node &node, ArrayRef<unsigned> inner);
  void emitPadding(Node &node, Value begin, Value end);

  // Contractions.cpp
  struct ContractionShape;
  ContractionShape contractionShape(Stage &stage);
  Value contractionItems(Stage &stage);
  void emitContraction(Stage &stage, Value begin, Value end);
  std::optional<Binding> view(Value tensor);

  // Scatter.cpp
  Value scatterRowsPerItem(Stage &stage);
  Value scatterItems(Stage &stage);
  void emitScatter(Stage &stage, Value begin, Value end);

  KernelGraph &graph;
  LowerKernelsOptions options;
  mlir::OpBuilder b;
  /// Inserts into the entry block, before everything that depends on an item.
  mlir::OpBuilder prologue;
  mlir::LLVM::LLVMFuncOp function;
  mlir::Operation *marker = nullptr;
  Value buffersPointer, scalarsPointer, status, workspacePointer;
  int64_t workspaceBytes = 0;
  llvm::DenseMap<Value, Binding> bindings;
  llvm::DenseMap<int, Binding> resultBindings;
  llvm::DenseMap<Value, Value> scalars;
  /// Constants in the module's read-only data.
  llvm::DenseMap<mlir::Operation *, mlir::LLVM::GlobalOp> tables;
  std::map<std::pair<int64_t, SmallVector<unsigned, 2>>, Value> extents;
  SmallVector<std::map<Key, Value>> memo;
  SmallVector<mlir::Attribute> scopes;
  mlir::LLVM::AliasScopeDomainAttr domain;
  /// Pairs of (operand, result) that may be one buffer.
  SmallVector<std::pair<unsigned, unsigned>> shareable;
  mlir::Attribute accessGroup;
  Location loc = mlir::UnknownLoc::get(graph.kernel.getContext());
};

} // namespace oneflow::cpu

#endif // ONEFLOW_LIB_CONVERSION_KERNELTOCPU_KERNELEMITTER_H
