//===- SbpSelection.h - signatures of a module ------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Poses the choice of all signatures and storages of a module as one selection
// problem per mesh axis, and keeps what is needed to explain it.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPSELECTION_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPSELECTION_H

#include "SbpPins.h"

#include "oneflow/Sbp/CostModel.h"

#include "llvm/ADT/SetVector.h"

#include <set>

namespace oneflow {

/// Chooses the signatures of a module's ops and the storages of its variables:
/// construct, then run, then write; between them what training keeps may be
/// spread further. Functions share variables, so they are decided together.
class SbpSelection {
public:
  SbpSelection(mlir::ModuleOp module, const SbpPins &pins)
      : module(module), pins(pins) {}

  /// Chooses, and finds out why if it `explains`. Fails, with errors on the
  /// ops, where no signature fits.
  mlir::LogicalResult run(bool explains = false);
  /// Splits what training keeps along the axes that split inputs, as ZeRO
  /// (arXiv 1910.02054) does: in stages 1 and 2 the optimizer's state, in stage
  /// 3 the parameters, too. Updates run on the parts; all else is computed as
  /// it was chosen. What the user pins stays. Fails, with an error, where there
  /// is no such axis or no update. Call it behind run.
  mlir::LogicalResult shardStorages(unsigned stage);
  /// Puts the signatures on the ops and the storages on the variables.
  void write();
  /// Prints a remark per op and variable: what was chosen and, axis by axis,
  /// why. After run(true).
  void explain();

private:
  /// Something that lies in one of several ways.
  struct Node {
    enum class Kind : uint8_t {
      Op,
      /// A variable, which stands for its reads and updates, too: all lie as it
      /// does. Options have one operand (updates) and one result (reads), which
      /// are equal.
      Variable,
      /// The form in which a value goes to several consumers. What they want
      /// alike is boxed once, and is to be paid for once. As for Variable.
      Delivery,
    };
    Kind kind = Kind::Op;
    /// The op, the variable, or the op whose value is delivered.
    mlir::Operation *op = nullptr;
    /// Reads, updates and gradients of a variable.
    llvm::SmallVector<SpreadOpInterface> uses;
    PlacementOp placement;
    /// Where operands are taken; differs for a boxing between placements.
    PlacementOp source;
    sbp::Mesh mesh;
    sbp::CostModel model;
    std::vector<sbp::Signature> allowed;
    std::vector<sbp::Shape> operandShapes, resultShapes;
    OpPins pins;
    /// Along time: its results are there behind the last micro-batch only.
    bool isLate = false;
    /// The value of its results depends on an input of the step.
    bool dependsOnInput = false;
    /// The signature that the op carries.
    std::optional<sbp::NdSignature> carried;
    /// Chosen so far: one entry per state and axis.
    sbp::NdSignature chosen;
    /// For the axis at hand.
    std::vector<sbp::Signature> options;
    std::vector<double> costs;

    struct Reason {
      std::string text;
      /// The node that this one goes along with, if it does.
      std::optional<unsigned> follows;
    };
    /// One per axis.
    std::vector<Reason> reasons;
  };

  /// A use of a node's result by another node.
  struct Edge {
    unsigned producer, result, consumer, operand;
    /// Both must lie alike, by the axes where neither is pinned: a variable
    /// and the one that it is like.
    bool ties = false;
    int64_t elementBytes = 1;
    /// For the axis at hand; options(producer) x options(consumer).
    std::vector<double> costs;
  };

  // SbpGraph.cpp: nodes and edges.
  mlir::LogicalResult collect();
  mlir::LogicalResult addVariables();
  mlir::LogicalResult addFunction(mlir::func::FuncOp function);
  mlir::LogicalResult addOp(SpreadOpInterface op);
  void addDeliveries();
  Node makeNode(Node::Kind kind, mlir::Operation *op, PlacementOp placement,
                PlacementOp source) const;
  void findDataAxes();
  /// The axis splits an input of the step where the node lies.
  bool isDataAxis(const Node &node, size_t axis) const;

  // SbpSelection.cpp: options and the choice.
  mlir::LogicalResult selectAxis(size_t axis, bool explains);
  mlir::LogicalResult findOptions(Node &node, size_t axis);
  void findDeliveryOptions(unsigned index);
  void addBlockedOptions(Node &node, size_t axis) const;
  mlir::LogicalResult reportNoOption(Node &node, size_t axis);
  bool isLegal(const Node &node, const sbp::Signature &option,
               size_t axis) const;
  static bool obeysPins(const Node &node, const sbp::Signature &option,
                        size_t axis);
  std::vector<unsigned> inOrder() const;
  /// With `forced`, the best choice in which that node has that option; fails
  /// without an error where there is none.
  mlir::FailureOr<std::vector<unsigned>> solve(
      size_t axis,
      std::optional<std::pair<unsigned, unsigned>> forced = std::nullopt) const;

  // SbpTime.cpp: the one option of each node along time.
  struct TimeState {
    sbp::Sbp sbp;
    bool isLate;
  };
  bool hasTime(const Node &node) const;
  TimeState timeStateOf(mlir::Value value) const;
  std::optional<int> operandEffort(mlir::Value operand, const Node &consumer,
                                   const sbp::Sbp &to, bool &accumulates) const;
  std::optional<int> timeEffort(const Node &node, const sbp::Signature &option,
                                bool &isLate) const;
  mlir::LogicalResult chooseTime();
  mlir::LogicalResult chooseTimeOf(unsigned number, std::set<unsigned> &whole,
                                   bool &again);
  std::vector<unsigned> originsOf(unsigned number) const;
  void makeParts();
  mlir::LogicalResult checkUpdatesInTime() const;
  mlir::LogicalResult reportTime(Node &node);

  // SbpCosts.cpp: what options cost.
  sbp::CostModel modelOf(const Node &node, size_t axis) const;
  double nodeSeconds(const Node &node, const sbp::Signature &option,
                     size_t axis) const;
  void weighEdge(Edge &edge, size_t axis);
  /// How often in a step what an edge needs is done: once per micro-batch, or
  /// once where the value is accumulated first.
  double timesOf(const Edge &edge) const;
  double edgeSeconds(const Edge &edge, const sbp::Sbp &from, const sbp::Sbp &to,
                     const sbp::Shape &local, size_t axis) const;

  // SbpZero.cpp
  struct Update;
  std::optional<Update> asUpdate(const Node &node) const;
  std::optional<int64_t> chooseShard(const Update &update, size_t axis) const;
  void shardUpdate(const Update &update, int64_t dim, size_t axis,
                   unsigned stage);
  Node *besideUpdate(mlir::Operation *op, const Update &update);
  void shardAround(const Update &update, int64_t dim, size_t axis,
                   unsigned stage);
  bool shardTests(mlir::Value gradient, const Update &update, int64_t dim,
                  size_t axis, llvm::SmallPtrSetImpl<mlir::Operation *> &done);
  void routeGradients(const Node &node, const sbp::NdSignature &before,
                      unsigned stage);
  static void setReason(Node &node, size_t axis, std::string text);
  void insertRoutes();
  void separateBackwardReads();

  // SbpExplain.cpp
  /// How far away a reason is looked for.
  static constexpr unsigned kStepsToReason = 24;
  /// For how many circles of reasons an axis is solved anew.
  static constexpr unsigned kCyclesToPrice = 6;
  class Change;
  unsigned nextBest(unsigned index, const std::vector<unsigned> &options) const;
  void explainAxis(const std::vector<unsigned> &options, size_t axis);
  double totalSeconds(const std::vector<unsigned> &options) const;
  Node::Reason explainChoice(unsigned index,
                             const std::vector<unsigned> &options,
                             size_t axis) const;
  std::string originOf(unsigned index, size_t axis) const;

  mlir::ModuleOp module;
  const SbpPins &pins;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  /// Edges at each node, either end.
  std::vector<std::vector<unsigned>> incident;
  /// Node of each op, variable, read and update.
  llvm::DenseMap<mlir::Operation *, unsigned> index;
  /// Blocks that some op splits in: reshapes make them.
  std::set<int64_t> blocks;
  /// By placement and axis.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<bool>> dataAxes;
  /// States that operands are to go through, in order, on their way.
  llvm::MapVector<mlir::OpOperand *, std::vector<sbp::NdSbp>> routes;
  /// Parameters that the backward pass is to read for itself.
  llvm::SetVector<mlir::Operation *> readTwice;
};

/// The pin of an operand or result along an axis, null where it is free.
const SbpPin *pinAt(llvm::ArrayRef<StatePins> pins, size_t index, size_t axis);

/// The mesh of the first axes.
sbp::Mesh prefixOf(const sbp::Mesh &mesh, size_t axes);

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPSELECTION_H
