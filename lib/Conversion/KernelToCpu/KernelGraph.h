//===- KernelGraph.h - what a kernel computes, and in which loops -*- C++ -*-=//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The analysis half of the lowering. A kernel's tensors are of two kinds: those
// that are kept (results of the kernel, reductions, operands of contractions,
// expensive values with several readers), each made by a Node, and all others,
// which are recomputed at the index where they are read and so never exist.
// Nodes are then grouped into stages: one loop nest each, over "row variables"
// that all nodes of the stage share and along which no two rows exchange data.
// The rows are what the work items are made of.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_CONVERSION_KERNELTOCPU_KERNELGRAPH_H
#define ONEFLOW_LIB_CONVERSION_KERNELTOCPU_KERNELGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <optional>

namespace oneflow::cpu {

using llvm::ArrayRef;
using llvm::SmallVector;

/// A product of a constant and of run-time scalars, so that extents and strides
/// can be compared without knowing the scalars.
struct Extent {
  int64_t factor = 1;
  /// Ids of KernelGraph::symbols, sorted; one may come twice.
  SmallVector<unsigned, 2> symbols;

  bool isStatic() const { return symbols.empty(); }
  bool isOne() const { return isStatic() && factor == 1; }
  bool operator==(const Extent &other) const {
    return factor == other.factor && symbols == other.symbols;
  }
  bool operator!=(const Extent &other) const { return !(*this == other); }
  Extent operator*(const Extent &other) const;
};
using Extents = SmallVector<Extent, 4>;

/// How a node reads a kept tensor or an argument: an expression over the node's
/// iteration dims per dim of the tensor, null where it is not affine.
struct Access {
  mlir::Value tensor;
  SmallVector<mlir::AffineExpr, 4> indices;
};

/// Positions of a contraction's iteration dims.
struct Contraction {
  SmallVector<unsigned, 2> batch, m, n, k;
  /// Input numbers: `a` has the m dims, `b` the n dims, among them the one that
  /// comes last in the result.
  unsigned a = 0, b = 1;
};

/// A reduction that adds to rows whose numbers it reads: see Scatter.cpp.
struct Scatter {
  /// The parallel iteration dim that is compared with the index.
  unsigned row;
  /// Number of the input that gives the index.
  unsigned index;
};

/// Makes one or more kept tensors.
struct Node {
  /// A generic op that reduces; null if `results` are computed pointwise.
  mlir::linalg::GenericOp reduction;
  SmallVector<mlir::Value, 2> results;
  /// Where the results go in the kernel's result list; -1 for one that is not
  /// returned. A value returned twice has a second node of its own.
  SmallVector<int, 2> returned;
  /// Iteration space.
  Extents domain;
  SmallVector<bool, 4> reduced;
  /// Per dim of the results: the iteration dim, or -1 for the constant zero.
  SmallVector<int, 4> outDims;
  SmallVector<Access, 4> accesses;
  std::optional<Contraction> contraction;
  std::optional<Scatter> scatter;
  /// Per row variable of the node's stage: the iteration dim.
  SmallVector<unsigned, 4> rowDims;
  mlir::Location loc;
  /// Position in program order.
  unsigned order = 0;

  explicit Node(mlir::Location loc) : loc(loc) {}
};

/// One loop nest.
struct Stage {
  enum class Kind { Pointwise, Rows, Contraction, Scatter };
  Kind kind = Kind::Pointwise;
  SmallVector<Node *, 4> nodes; // in program order
  Extents rows;                 // extent per row variable
  /// Rows only: blocks of the last row variable run innermost, since that is
  /// the direction in which memory is contiguous.
  bool lanes = false;
  /// Stages whose tensors this one reads.
  llvm::DenseSet<Stage *> dependsOn;
};

/// Where a kept tensor lives that is not returned.
enum class Storage { Register, RowStack, Stack, Workspace };

class KernelGraph {
public:
  explicit KernelGraph(mlir::func::FuncOp kernel) : kernel(kernel) {}

  /// Fills everything below; reports at the op what cannot be lowered.
  mlir::LogicalResult analyze();

  mlir::func::FuncOp kernel;
  SmallVector<mlir::Value> symbols;
  SmallVector<std::unique_ptr<Node>> nodes;
  SmallVector<std::unique_ptr<Stage>> stages; // in an order that can be run
  llvm::DenseMap<mlir::Value, Node *> keptBy;
  llvm::DenseMap<mlir::Value, Storage> storage;

  Extents shapeOf(mlir::Value tensor);
  /// An `index` value as an extent.
  Extent extentOf(mlir::Value index);
  /// The largest value of an extent, if that is known.
  std::optional<int64_t> boundOf(const Extent &extent);
  /// True if some stage reads what another one writes.
  bool hasDependentStages() const;
  Stage *stageOf(mlir::Value kept);
  bool isKept(mlir::Value value) const { return keptBy.count(value); }
  /// Pointwise generic ops that `node` computes at its own indices.
  llvm::DenseSet<mlir::Operation *> inlinedBy(Node &node) {
    return inlined.lookup(&node);
  }
  /// The number of elements per row, at most, or nullopt if not known.
  std::optional<int64_t> rowElements(const Node &node);

private:
  mlir::LogicalResult build();
  mlir::LogicalResult collectKept();
  mlir::LogicalResult addReduction(mlir::linalg::GenericOp op);
  Node &addNode(mlir::Location loc);
  void collectAccesses(Node &node);
  void findExpensiveShared(llvm::SmallVectorImpl<mlir::Value> &values);
  void formStages();
  bool tryMerge(Stage *producer, Stage *consumer);
  mlir::LogicalResult chooseStorage();
  void chooseLanes(Stage &stage);
  unsigned symbolId(mlir::Value value);

  friend class AccessCollector;
  llvm::DenseMap<mlir::Value, unsigned> symbolIds;
  llvm::DenseMap<unsigned, int64_t> symbolBounds;
  llvm::DenseMap<mlir::Value, Extents> shapes;
  llvm::DenseMap<Node *, Stage *> stageOfNode;
  /// Pointwise values that must be recomputed: there is no room to keep them.
  llvm::DenseSet<mlir::Value> neverKeep;
  /// Pointwise values kept though nothing forces it.
  llvm::DenseSet<mlir::Value> keepExtra;
  /// Pointwise generics that each node computes at its indices.
  llvm::DenseMap<Node *, llvm::DenseSet<mlir::Operation *>> inlined;
};

/// True if `op` multiplies two operands and sums: what the register-tiled code
/// can compute.
std::optional<Contraction> matchContraction(mlir::linalg::GenericOp op);

/// The row and index of a sum into rows whose numbers are data.
std::optional<Scatter> matchScatter(mlir::linalg::GenericOp op);

/// True if `value` is an argument or kept tensor seen through reshapes, slices
/// and permutations, so that one pointer and strides describe it.
bool isStridedView(const KernelGraph &graph, mlir::Value value);

/// The layout attributes of an argument: panel width (0 if row-major) and dim.
struct PanelLayout {
  int64_t width = 0;
  unsigned dim = 0;
};
PanelLayout panelOfArgument(mlir::BlockArgument argument);
PanelLayout panelOfResult(mlir::func::FuncOp kernel, unsigned result);

/// True if all dims of the generic op are parallel.
bool isPointwise(mlir::linalg::GenericOp op);

/// Stack that one kernel may use for intermediates.
constexpr int64_t kStackBudget = 32 * 1024;
/// Width of a block of lanes, in elements.
constexpr int64_t kLanes = 128;

} // namespace oneflow::cpu

#endif // ONEFLOW_LIB_CONVERSION_KERNELTOCPU_KERNELGRAPH_H
