//===- SbpSelection.h - signatures of one function --------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Poses the choice of signatures in one function as a selection problem per
// mesh axis, and keeps what is needed to explain it.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPSELECTION_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPSELECTION_H

#include "SbpPins.h"

#include <set>

namespace oneflow {

/// Chooses the signatures of one function's ops: construct, then run, then
/// write.
class SbpSelection {
public:
  SbpSelection(mlir::func::FuncOp function, const SbpPins &pins)
      : function(function), pins(pins) {}

  /// Chooses. Fails, with errors on the ops, where no signature fits.
  mlir::LogicalResult run();
  /// Puts the signatures on the ops.
  void write();
  /// Prints a remark per op: its signature and, axis by axis, why.
  void explain();

private:
  struct Node {
    SpreadOpInterface op;
    PlacementOp placement;
    /// Where operands are taken; differs for a boxing between placements.
    PlacementOp source;
    sbp::Mesh mesh;
    sbp::CostModel model;
    sbp::OpRule rule;
    std::vector<sbp::Signature> allowed;
    std::vector<sbp::Shape> operandShapes, resultShapes;
    /// The value of its results depends on an input of the step.
    bool dependsOnInput = false;
    /// The signature that the op carries.
    std::optional<sbp::NdSignature> carried;
    /// Chosen so far: one entry per state and axis.
    sbp::NdSignature chosen;
    /// For the axis at hand.
    std::vector<sbp::Signature> options;
    std::vector<double> costs;
    /// One per axis.
    std::vector<std::string> reasons;
  };

  /// A use of a node's result by another node.
  struct Edge {
    unsigned producer, result, consumer, operand;
    /// For the axis at hand; options(producer) x options(consumer).
    std::vector<double> costs;
  };

  mlir::LogicalResult collect();
  mlir::LogicalResult selectAxis(size_t axis);
  mlir::LogicalResult findOptions(Node &node, size_t axis);
  void addBlockedOptions(Node &node, size_t axis) const;
  mlir::LogicalResult reportNoOption(Node &node, size_t axis);
  bool isLegal(const Node &node, const sbp::Signature &option,
               size_t axis) const;
  double nodeSeconds(const Node &node, const sbp::Signature &option,
                     size_t axis) const;
  void weighEdge(Edge &edge, size_t axis);
  double edgeSeconds(const Edge &edge, const sbp::Sbp &from, const sbp::Sbp &to,
                     const sbp::Shape &local, size_t axis) const;
  std::vector<unsigned> solve() const;
  std::string explainChoice(unsigned index,
                            const std::vector<unsigned> &options,
                            size_t axis) const;

  mlir::func::FuncOp function;
  const SbpPins &pins;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  /// Edges at each node, either end.
  std::vector<std::vector<unsigned>> incident;
  /// Blocks that some op of the function splits in: reshapes make them.
  std::set<int64_t> blocks;
  /// The axis at hand splits an input of the step.
  bool splitsInputs = false;
};

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPSELECTION_H
