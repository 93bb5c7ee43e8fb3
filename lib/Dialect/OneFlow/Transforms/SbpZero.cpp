//===- SbpZero.cpp - spread what training keeps ---------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ZeRO as storage SBP (Rajbhandari et al., arXiv 1910.02054): behind the choice
// of signatures, storages and the optimizer's updates are split along the axes
// that split inputs. The gradient of a parameter is then reduced to parts, and
// its new value gathered where the storage is whole. All that is computed is
// computed as before, and sums are taken in the same order, so that no bit
// changes; micro-batches are the exception, see routeGradients.
//
//===----------------------------------------------------------------------===//

#include "SbpSelection.h"

#include "oneflow/Dialect/OneFlow/Transforms/BoxingRequest.h"

using namespace mlir;
using namespace oneflow;

/// An optimizer's update of one parameter.
struct SbpSelection::Update {
  /// The node of the op.
  unsigned node;
  /// Nodes of the variables that it reads elementwise; the parameter's first.
  SmallVector<unsigned> variables;

  unsigned parameter() const { return variables.front(); }
};

std::optional<SbpSelection::Update>
SbpSelection::asUpdate(const Node &node) const {
  if (node.kind != Node::Kind::Op || node.carried ||
      !isa<SgdUpdateOp, AdamWUpdateOp>(node.op))
    return std::nullopt;
  Update update{index.lookup(node.op), {}};
  Type type = node.op->getOperand(0).getType();
  for (Value operand : node.op->getOperands()) {
    auto read = operand.getDefiningOp<ReadOp>();
    if (!read || operand.getType() != type) {
      // A gradient or a scalar; without a parameter there is nothing to keep.
      if (update.variables.empty())
        return std::nullopt;
      continue;
    }
    update.variables.push_back(index.lookup(read));
  }
  return update;
}

/// The dimension along which to split an update: that of a variable which lies
/// so already, else the one that leaves the fullest rank least, preferably not
/// one that another axis splits, too.
std::optional<int64_t> SbpSelection::chooseShard(const Update &update,
                                                 size_t axis) const {
  for (unsigned variable : update.variables)
    if (const sbp::Sbp &state = nodes[variable].chosen.results[0][axis];
        state.isSplit())
      return state.dim;
  const Node &op = nodes[update.node];
  const sbp::Shape &shape = op.operandShapes[0];
  std::optional<int64_t> best;
  std::pair<bool, int64_t> least;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    sbp::NdSbp state = op.chosen.operands[0];
    bool nested = llvm::any_of(state, [&](const sbp::Sbp &other) {
      return other.isSplit() && other.dim == static_cast<int64_t>(dim);
    });
    state[axis] = sbp::Sbp::split(static_cast<int64_t>(dim));
    if (sbp::checkLegal(state, shape, op.mesh))
      continue;
    int64_t elements = 1;
    for (int64_t extent : sbp::ceilingShape(state, shape, op.mesh))
      elements *= extent;
    if (std::pair<bool, int64_t> rank{nested, elements};
        !best || rank < least) {
      best = static_cast<int64_t>(dim);
      least = rank;
    }
  }
  return best;
}

/// Reasons are there only where they are to be explained.
void SbpSelection::setReason(Node &node, size_t axis, std::string text) {
  if (axis < node.reasons.size())
    node.reasons[axis] = {std::move(text), {}};
}

void SbpSelection::shardUpdate(const Update &update, int64_t dim, size_t axis,
                               unsigned stage) {
  std::string reason = "split by zero " + std::to_string(stage);
  for (unsigned number : update.variables) {
    Node &variable = nodes[number];
    bool isParameter = number == update.parameter();
    const StatePins &pinned = pins.storageOf(cast<VariableOp>(variable.op));
    sbp::NdSbp state = variable.chosen.results[0];
    state[axis] = sbp::Sbp::split(dim);
    if (pinned[axis] || (isParameter && stage < 3) ||
        variable.chosen.results[0][axis].isSplit() ||
        sbp::checkLegal(state, variable.resultShapes[0], variable.mesh))
      continue;
    variable.chosen.operands[0] = variable.chosen.results[0] = state;
    setReason(variable, axis, reason);
  }
  Node &op = nodes[update.node];
  auto split = [&](std::vector<sbp::NdSbp> &states,
                   const std::vector<sbp::Shape> &shapes) {
    for (auto [state, shape] : llvm::zip(states, shapes))
      if (shape == op.operandShapes[0])
        state[axis] = sbp::Sbp::split(dim);
  };
  split(op.chosen.operands, op.operandShapes);
  split(op.chosen.results, op.resultShapes);
  setReason(op, axis, reason);
}

/// The ops of which every value of the update's shape may be split as the
/// update is: nobody fixed them, and they are on the same mesh.
SbpSelection::Node *SbpSelection::besideUpdate(Operation *op,
                                               const Update &update) {
  auto known = index.find(op);
  if (known == index.end())
    return nullptr;
  Node &node = nodes[known->second];
  if (node.kind != Node::Kind::Op || node.op != op || node.carried ||
      node.placement != nodes[update.node].placement ||
      !node.pins.operands.empty() || !node.pins.results.empty())
    return nullptr;
  return &node;
}

/// Splits the tests of whether a gradient is finite: comparisons, choices, and
/// reductions to a least value, of which each rank then has a part. False,
/// with nothing changed, where something that is not in `done` uses the
/// gradient, too.
bool SbpSelection::shardTests(Value gradient, const Update &update, int64_t dim,
                              size_t axis,
                              llvm::SmallPtrSetImpl<Operation *> &done) {
  const sbp::Shape &shape = nodes[update.node].operandShapes[0];
  struct Test {
    Node *node;
    sbp::Sbp operand, result;
  };
  SmallVector<Test> tests;
  SmallVector<std::pair<Value, sbp::Sbp>> work{
      {gradient, sbp::Sbp::split(dim)}};
  while (!work.empty()) {
    std::pair<Value, sbp::Sbp> item = work.pop_back_val();
    const sbp::Sbp &state = item.second;
    // What is reduced is wanted whole, or goes on as it is.
    if (state.isPartial())
      continue;
    for (Operation *user : item.first.getUsers()) {
      if (!done.insert(user).second)
        continue;
      Node *node = besideUpdate(user, update);
      sbp::Sbp result = state;
      if (auto reduce = dyn_cast<ReduceOp>(user)) {
        if (reduce.getKind() != ReduceKind::Min || reduce.getKeepDims())
          return false;
        if (llvm::is_contained(reduce.getDims(), state.dim))
          result = sbp::Sbp::partial(sbp::Reducer::Min);
        else
          result = sbp::Sbp::split(
              state.dim - llvm::count_if(reduce.getDims(), [&](int64_t other) {
                return other < state.dim;
              }));
      } else if (!isa<CompareOp, SelectOp>(user) || !node ||
                 node->resultShapes[0] != shape) {
        return false;
      }
      if (!node)
        return false;
      tests.push_back({node, state, result});
      work.push_back({user->getResult(0), result});
    }
  }
  for (const Test &test : tests) {
    for (auto [state, operandShape] :
         llvm::zip(test.node->chosen.operands, test.node->operandShapes))
      if (!operandShape.empty())
        state[axis] = test.operand;
    test.node->chosen.results[0][axis] = test.result;
  }
  return true;
}

/// What computes element by element around an update goes along with it: casts
/// and scalings of its gradient, so that this is reduced to parts before them,
/// and choices between the new values and the old.
void SbpSelection::shardAround(const Update &update, int64_t dim, size_t axis,
                               unsigned stage) {
  const Node &op = nodes[update.node];
  const sbp::Shape &shape = op.operandShapes[0];
  auto split = [&](Node &node) {
    for (auto [states, shapes] :
         {std::make_pair(&node.chosen.operands, &node.operandShapes),
          std::make_pair(&node.chosen.results, &node.resultShapes)})
      for (auto [state, stateShape] : llvm::zip(*states, *shapes))
        if (stateShape == shape)
          state[axis] = sbp::Sbp::split(dim);
    setReason(node, axis, "split by zero " + std::to_string(stage));
  };
  for (Operation *user : op.op->getUsers())
    if (Node *node = besideUpdate(user, update); node && isa<SelectOp>(user))
      split(*node);
  Value gradient = op.op->getOperand(1);
  llvm::SmallPtrSet<Operation *, 8> done{op.op};
  while (shardTests(gradient, update, dim, axis, done)) {
    Operation *producer = gradient.getDefiningOp();
    Node *node = producer ? besideUpdate(producer, update) : nullptr;
    // Where partial values go through, they are reduced behind it already. So
    // are micro-batches, as routeGradients says.
    if (!node || PlacementOp(op.placement).hasTimeAxis() ||
        !isa<CastOp, MulOp>(producer) || node->operandShapes[0] != shape ||
        node->chosen.operands[0][axis].isPartial() ||
        (isa<MulOp>(producer) && !node->operandShapes[1].empty()))
      return;
    sbp::NdSignature before = node->chosen;
    split(*node);
    routeGradients(*node, before, stage);
    done.insert(producer);
    gradient = producer->getOperand(0);
  }
}

/// Says by which states a gradient becomes a part, where that matters.
///
/// A sum over several axes has the bits of the order in which it is taken over
/// them. Where planning reduced to the whole, the part goes the same way; what
/// is done along one axis combines in the order of ranks either way.
///
/// Micro-batches are accumulated where they lie before ranks reduce, as without
/// ZeRO, up to stage 1. From stage 2 on every micro-batch is reduced, so that
/// what accumulates is the part: it takes less room, more traffic, and another
/// order of the sum.
void SbpSelection::routeGradients(const Node &node,
                                  const sbp::NdSignature &before,
                                  unsigned stage) {
  sbp::BoxingPlans plans;
  PlacementOp placement = node.placement;
  auto attribute = [&](const sbp::NdSbp &state) {
    return NdSbpAttr::get(module.getContext(), state);
  };
  auto space = [&](const sbp::NdSbp &state) {
    return spaceStateOf(placement, attribute(state));
  };
  auto inTime = [&](const sbp::Sbp &time, const sbp::NdSbp &states) {
    return withTimeState(placement, time, states).toNdSbp();
  };
  for (OpOperand &operand : node.op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    const Node &producer = nodes[index.at(operand.get().getDefiningOp())];
    if (producer.kind != Node::Kind::Op || producer.placement != node.placement)
      continue;
    const sbp::NdSbp &from =
        producer.chosen
            .results[cast<OpResult>(operand.get()).getResultNumber()];
    const sbp::NdSbp &whole = before.operands[number];
    const sbp::NdSbp &part = node.chosen.operands[number];
    bool accumulates =
        oneflow::timeStateOf(placement, attribute(from)).isPartial();
    bool accumulatesParts = accumulates && stage > 1;
    auto partials = llvm::count_if(
        space(from), [](const sbp::Sbp &state) { return state.isPartial(); });
    if (whole == part || (partials < 2 && !accumulatesParts))
      continue;
    const sbp::BoxingPlan *plan =
        plans.find(boxingRequest(operand.get(), placement, attribute(from),
                                 placement, attribute(whole)));
    if (!plan)
      continue;
    std::vector<sbp::NdSbp> way{from};
    auto go = [&](sbp::NdSbp next) {
      if (next != way.back())
        way.push_back(std::move(next));
    };
    if (accumulates && !accumulatesParts)
      go(inTime(sbp::Sbp::broadcast(), space(from)));
    sbp::Sbp time = oneflow::timeStateOf(placement, attribute(way.back()));
    for (const sbp::BoxingStep &step : plan->steps) {
      sbp::NdSbp next = inTime(time, step.to);
      for (size_t axis = 0; axis < next.size(); ++axis)
        if (whole[axis] != part[axis] && next[axis].isBroadcast())
          next[axis] = part[axis];
      // Planning goes on from here.
      if (sbp::checkLegal(next, node.operandShapes[number], node.mesh))
        break;
      go(std::move(next));
    }
    if (accumulatesParts)
      go(inTime(sbp::Sbp::broadcast(), space(way.back())));
    routes[&operand] = std::move(way);
  }
}

LogicalResult SbpSelection::shardStorages(unsigned stage) {
  bool hasUpdates = false, hasAxes = false;
  int64_t ranks = 1;
  for (PlacementOp placement : module.getOps<PlacementOp>())
    ranks = std::max(ranks, placement.getRankCount());
  for (size_t number = 0; number < nodes.size(); ++number) {
    std::optional<Update> update = asUpdate(nodes[number]);
    if (!update)
      continue;
    hasUpdates = true;
    Node &node = nodes[number];
    sbp::NdSignature before = node.chosen;
    for (size_t axis = 0; axis < node.mesh.size(); ++axis) {
      // Micro-batches share the memory of their ranks.
      bool isTime = axis == 0 && PlacementOp(node.placement).hasTimeAxis();
      if (isTime || !isDataAxis(node, axis))
        continue;
      hasAxes = true;
      Node &parameter = nodes[update->parameter()];
      auto isPinned = [&](ArrayRef<StatePins> states) {
        return llvm::any_of(states, [&](const StatePins &state) {
          return axis < state.size() && state[axis];
        });
      };
      if (isPinned(node.pins.operands) || isPinned(node.pins.results) ||
          parameter.placement != node.placement)
        continue;
      if (std::optional<int64_t> dim = chooseShard(*update, axis)) {
        shardUpdate(*update, *dim, axis, stage);
        shardAround(*update, *dim, axis, stage);
      } else {
        std::string reason = "whole, since zero finds no dimension that " +
                             std::to_string(node.mesh[axis]) +
                             " ranks could share";
        for (unsigned variable : update->variables)
          setReason(nodes[variable], axis, reason);
      }
      // What all micro-batches need is gathered once, before the first.
      if (stage == 3 && parameter.chosen.results[0][axis].isSplit() &&
          !PlacementOp(node.placement).hasTimeAxis())
        readTwice.insert(parameter.op);
    }
    routeGradients(node, before, stage);
  }
  if (!hasUpdates)
    return emitError(module.getLoc())
           << "zero " << stage
           << ": expected a training step with an optimizer's updates, got "
              "none";
  // A single rank shares with nobody, and is no mistake.
  if (!hasAxes && ranks > 1)
    return emitError(module.getLoc())
           << "zero " << stage
           << ": expected a mesh axis that splits inputs, along which to "
              "split what training keeps, got none";
  return success();
}

void SbpSelection::insertRoutes() {
  for (auto &[operand, way] : routes) {
    OpBuilder builder(module.getContext());
    Operation *producer = operand->get().getDefiningOp();
    builder.setInsertionPointAfter(producer);
    auto op = cast<SpreadOpInterface>(operand->getOwner());
    Location loc = builder.getFusedLoc({producer->getLoc(), op.getLoc()});
    Value value = operand->get();
    for (size_t step = 1; step < way.size(); ++step)
      value = BoxingOp::create(
          builder, loc, value.getType(), value, /*source=*/nullptr,
          op.getPlacementAttr(),
          SignatureAttr::get(
              builder.getContext(),
              {NdSbpAttr::get(builder.getContext(), way[step - 1])},
              {NdSbpAttr::get(builder.getContext(), way[step])}));
    // Tests that want the same part need not go the way again.
    Value whole = operand->get();
    for (OpOperand &use : llvm::make_early_inc_range(whole.getUses()))
      if (isa<CompareOp>(use.getOwner()) &&
          nodes[index.at(use.getOwner())]
                  .chosen.operands[use.getOperandNumber()] == way.back())
        use.set(value);
    operand->set(value);
  }
}

/// Gives what no output of a function depends on, the backward pass, reads of
/// its own. Values are boxed once each, so that a parameter which both passes
/// need is gathered by either, and not held from one to the other.
void SbpSelection::separateBackwardReads() {
  if (readTwice.empty())
    return;
  for (auto function : module.getOps<func::FuncOp>()) {
    llvm::DenseSet<Operation *> forward;
    for (Operation &op : llvm::reverse(function.getBody().front()))
      if (isa<OutputOp>(op) ||
          llvm::any_of(op.getUsers(),
                       [&](Operation *user) { return forward.contains(user); }))
        forward.insert(&op);
    for (ReadOp read : llvm::make_early_inc_range(function.getOps<ReadOp>())) {
      auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(
          read, read.getVariableAttr());
      if (!readTwice.contains(variable) || !forward.contains(read))
        continue;
      Operation *first = nullptr;
      auto isBackward = [&](OpOperand &use) {
        return !forward.contains(use.getOwner());
      };
      for (OpOperand &use : read->getUses())
        if (isBackward(use) &&
            (!first || use.getOwner()->isBeforeInBlock(first)))
          first = use.getOwner();
      if (!first)
        continue;
      auto again = cast<ReadOp>(OpBuilder(first).clone(*read));
      read.getResult().replaceUsesWithIf(again.getResult(), isBackward);
    }
  }
}
