//===- SbpSelection.cpp - signatures of one function ----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One selection problem per mesh axis, first to last: nodes are ops, options
// the signatures that their rules allow on what earlier axes leave, edges the
// boxing between them.
//
//===----------------------------------------------------------------------===//

#include "SbpSelection.h"

#include "oneflow/Sbp/Selection.h"

#include "llvm/Support/Format.h"

#include <map>

using namespace mlir;
using namespace oneflow;

/// The mesh of the first axes.
static sbp::Mesh prefixOf(const sbp::Mesh &mesh, size_t axes) {
  return sbp::Mesh(mesh.begin(), mesh.begin() + std::min(axes, mesh.size()));
}

static double elementCount(const sbp::Shape &shape) {
  double count = 1;
  for (int64_t extent : shape)
    count *= static_cast<double>(extent);
  return count;
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

LogicalResult SbpSelection::collect() {
  llvm::DenseMap<Operation *, unsigned> index;
  WalkResult result = function.walk([&](SpreadOpInterface op) {
    FailureOr<PlacementOp> placement = requirePlacement(op);
    FailureOr<PlacementOp> source = requireOperandPlacement(op);
    if (failed(placement) || failed(source) || failed(requireStaticShapes(op)))
      return WalkResult::interrupt();
    Node node;
    node.op = op;
    node.placement = *placement;
    node.source = *source;
    node.mesh = placement->getMesh();
    node.model = placement->getDevice() == Device::Cuda ? sbp::CostModel::cuda()
                                                        : sbp::CostModel::cpu();
    node.operandShapes = shapesOf(op->getOperands());
    node.resultShapes = shapesOf(op->getResults());
    node.chosen.operands.resize(op->getNumOperands());
    node.chosen.results.resize(op->getNumResults());
    node.dependsOnInput = isa<InputOp>(op.getOperation());
    if (SignatureAttr signature = op.getSignatureAttr()) {
      node.carried = signature.toNdSignature();
    } else if (isa<BoxingOp>(op.getOperation())) {
      op->emitOpError("expected a signature: it alone says what a boxing does");
      return WalkResult::interrupt();
    }
    node.rule = op.getSbpRule();
    node.allowed = sbp::enumerateSignatures(node.rule);
    for (const sbp::Signature &signature : node.allowed)
      for (const auto *states : {&signature.operands, &signature.results})
        for (const sbp::Sbp &state : *states)
          if (state.block > 1)
            blocks.insert(state.block);
    if (const StatePins *pinned = pins.lookup(op))
      for (const std::optional<SbpPin> &pin : *pinned)
        if (pin && pin->sbp.block > 1)
          blocks.insert(pin->sbp.block);

    unsigned consumer = nodes.size();
    for (OpOperand &operand : op->getOpOperands()) {
      FailureOr<SpreadOpInterface> producer = requireProducer(operand);
      if (failed(producer))
        return WalkResult::interrupt();
      auto known = index.find(*producer);
      if (known == index.end()) {
        op->emitOpError("expected operand ")
            << operand.getOperandNumber() << " to be computed before it";
        return WalkResult::interrupt();
      }
      node.dependsOnInput |= nodes[known->second].dependsOnInput;
      edges.push_back({known->second,
                       cast<OpResult>(operand.get()).getResultNumber(),
                       consumer,
                       operand.getOperandNumber(),
                       {}});
    }
    index[op] = consumer;
    nodes.push_back(std::move(node));
    return WalkResult::advance();
  });
  incident.resize(nodes.size());
  for (auto [number, edge] : llvm::enumerate(edges)) {
    incident[edge.producer].push_back(number);
    incident[edge.consumer].push_back(number);
  }
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// True when the pin, if any, of `axis` holds for all results, or for the
/// operand.
static bool obeys(const sbp::Signature &option, const StatePins *pins,
                  size_t axis) {
  if (!pins || !(*pins)[axis])
    return true;
  const sbp::Sbp &wanted = (*pins)[axis]->sbp;
  return llvm::all_of(option.results.empty() ? option.operands : option.results,
                      [&](const sbp::Sbp &state) { return state == wanted; });
}

bool SbpSelection::isLegal(const Node &node, const sbp::Signature &option,
                           size_t axis) const {
  sbp::Mesh prefix = prefixOf(node.mesh, axis + 1);
  for (auto [index, state] : llvm::enumerate(node.chosen.operands)) {
    sbp::NdSbp extended = state;
    extended.push_back(option.operands[index]);
    if (sbp::checkLegal(extended, node.operandShapes[index], prefix))
      return false;
  }
  const StatePins *pinned = pins.lookup(node.op);
  for (auto [index, state] : llvm::enumerate(node.chosen.results)) {
    sbp::NdSbp extended = state;
    extended.push_back(option.results[index]);
    // What later axes ask for must stay possible, if it is so at all: else the
    // error is for that axis.
    for (size_t later = axis + 1; later < node.mesh.size(); ++later) {
      sbp::NdSbp alone(node.mesh.size());
      if (pinned && (*pinned)[later])
        alone[later] = (*pinned)[later]->sbp;
      bool possible =
          !sbp::checkLegal(alone, node.resultShapes[index], node.mesh);
      extended.push_back(possible ? alone[later] : sbp::Sbp::broadcast());
    }
    if (sbp::checkLegal(extended, node.resultShapes[index], node.mesh))
      return false;
  }
  return true;
}

LogicalResult SbpSelection::findOptions(Node &node, size_t axis) {
  node.options.clear();
  node.costs.clear();
  if (node.carried) {
    node.options.push_back(axisOf(*node.carried, axis));
  } else if (axis < node.mesh.size()) {
    const StatePins *pinned = pins.lookup(node.op);
    for (const sbp::Signature &option : node.allowed)
      if (obeys(option, pinned, axis) && isLegal(node, option, axis))
        node.options.push_back(option);
    addBlockedOptions(node, axis);
    if (node.options.empty())
      return reportNoOption(node, axis);
  }
  for (const sbp::Signature &option : node.options)
    node.costs.push_back(nodeSeconds(node, option, axis));
  return success();
}

/// A reshape of an uneven split leaves one in blocks, and a hint may ask for
/// them; other ops can go along where blocks make a difference.
void SbpSelection::addBlockedOptions(Node &node, size_t axis) const {
  const StatePins *pinned = pins.lookup(node.op);
  bool isAsked = pinned && (*pinned)[axis] && (*pinned)[axis]->sbp.block > 1;
  sbp::Mesh mesh = prefixOf(node.mesh, axis + 1);
  auto differs = [&](const std::vector<sbp::NdSbp> &chosen,
                     const std::vector<sbp::Sbp> &plain,
                     const std::vector<sbp::Sbp> &blocked,
                     const std::vector<sbp::Shape> &shapes) {
    for (size_t index = 0; index < chosen.size(); ++index) {
      sbp::NdSbp a = chosen[index], b = chosen[index];
      a.push_back(plain[index]);
      b.push_back(blocked[index]);
      if (!sbp::sameLayout(a, b, shapes[index], mesh))
        return true;
    }
    return false;
  };
  for (int64_t block : blocks)
    for (const sbp::Signature &plain : node.allowed) {
      sbp::Signature option = sbp::withBlocks(plain, block);
      if (option == plain || llvm::is_contained(node.options, option) ||
          !obeys(option, pinned, axis) || !isLegal(node, option, axis))
        continue;
      // The plain option itself may be illegal or unwanted: then there is
      // nothing to compare with.
      if (isAsked || !llvm::is_contained(node.options, plain) ||
          differs(node.chosen.operands, plain.operands, option.operands,
                  node.operandShapes) ||
          differs(node.chosen.results, plain.results, option.results,
                  node.resultShapes))
        node.options.push_back(std::move(option));
    }
}

/// How far a signature is from having `wanted` everywhere.
static int distanceTo(const sbp::Signature &option, const sbp::Sbp &wanted) {
  int distance = 0;
  for (const sbp::Sbp &state :
       option.results.empty() ? option.operands : option.results)
    distance += state == wanted ? 0 : (state.kind == wanted.kind ? 1 : 2);
  return distance;
}

LogicalResult SbpSelection::reportNoOption(Node &node, size_t axis) {
  const StatePins *pinned = pins.lookup(node.op);
  InFlightDiagnostic error = node.op->emitOpError("along '")
                             << axisName(node.placement, axis) << "': ";
  std::optional<SbpPin> pin;
  if (pinned)
    pin = (*pinned)[axis];
  if (pin)
    error << pin->reason << " asks for " << sbp::toString(pin->sbp) << "; ";
  std::vector<sbp::Signature> legal;
  for (const sbp::Signature &option : node.allowed)
    if (isLegal(node, option, axis))
      legal.push_back(option);
  if (legal.empty()) {
    error << "this op allows nothing for its shapes";
    return failure();
  }
  error << "this op allows for its shapes: ";
  llvm::interleaveComma(legal, error, [&](const sbp::Signature &option) {
    error << sbp::toString(option);
  });
  if (pin) {
    auto nearest = llvm::min_element(
        legal, [&](const sbp::Signature &a, const sbp::Signature &b) {
          return distanceTo(a, pin->sbp) < distanceTo(b, pin->sbp);
        });
    error << "; nearest: " << sbp::toString(*nearest);
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

double SbpSelection::nodeSeconds(const Node &node, const sbp::Signature &option,
                                 size_t axis) const {
  Operation *op = node.op;
  if (isa<ReadOp, InputOp, OutputOp, UpdateOp, GradientOp, ConstantOp,
          BoxingOp>(op))
    return 0;

  sbp::Mesh prefix = prefixOf(node.mesh, axis + 1);
  auto localShape = [&](const sbp::NdSbp &chosen, const sbp::Sbp &next,
                        const sbp::Shape &shape) {
    sbp::NdSbp state = chosen;
    state.push_back(next);
    return sbp::ceilingShape(state, shape, prefix);
  };
  double bytes = 0, flops = 0;
  for (auto [index, value] : llvm::enumerate(op->getOperands()))
    bytes += elementCount(localShape(node.chosen.operands[index],
                                     option.operands[index],
                                     node.operandShapes[index])) *
             elementBytesOf(value);
  for (auto [index, value] : llvm::enumerate(op->getResults()))
    bytes += elementCount(localShape(node.chosen.results[index],
                                     option.results[index],
                                     node.resultShapes[index])) *
             elementBytesOf(value);
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    sbp::Shape lhs = localShape(node.chosen.operands[0], option.operands[0],
                                node.operandShapes[0]);
    int64_t contracted = lhs[lhs.size() - (matmul.getTransposeLhs() ? 2 : 1)];
    flops = 2 * static_cast<double>(contracted) *
            elementCount(localShape(node.chosen.results[0], option.results[0],
                                    node.resultShapes[0]));
  }
  double seconds = node.model.computeSeconds(flops, bytes);

  if (option.decomposed) {
    // A maximum and a sum are reduced over the axis, and what is picked if
    // labels choose; each has one element per row.
    sbp::Shape rows =
        sbp::ceilingShape(node.chosen.operands[0], node.operandShapes[0],
                          prefixOf(node.mesh, axis));
    rows[option.operands[0].dim] = 1;
    int reductions = isa<CrossEntropyOp>(op) ? 3 : 2;
    seconds +=
        reductions * node.model.boxingSeconds(
                         sbp::Sbp::partial(), sbp::Sbp::broadcast(), rows,
                         elementBytesOf(op->getOperand(0)), node.mesh[axis]);
  }
  return seconds;
}

double SbpSelection::edgeSeconds(const Edge &edge, const sbp::Sbp &from,
                                 const sbp::Sbp &to, const sbp::Shape &local,
                                 size_t axis) const {
  const Node &producer = nodes[edge.producer];
  const Node &consumer = nodes[edge.consumer];
  Operation *user = consumer.op;
  int64_t bytes = elementBytesOf(producer.op->getResult(edge.result));
  if (producer.placement != consumer.source)
    return producer.model.disjointSeconds(
        from, producer.mesh[axis], to,
        PlacementOp(consumer.source).getMesh()[axis],
        static_cast<int64_t>(elementCount(local)) * bytes);
  if (from == to)
    return 0;

  double seconds =
      producer.model.boxingSeconds(from, to, local, bytes, producer.mesh[axis]);
  bool sameLayout = seconds == 0 && from.isSplit() && to.isSplit();
  if (sameLayout)
    return 0;
  // Every boxing at least copies, so that of two free ways the direct one wins.
  seconds += producer.model.computeSeconds(0, 2 * elementCount(local) *
                                                  static_cast<double>(bytes));
  // What leaves the step, or is kept for the next, must take the form it has
  // there.
  if (from.isSplit() && !isa<OutputOp, UpdateOp>(user))
    seconds += producer.dependsOnInput == splitsInputs
                   ? producer.model.firmPenalty
                   : producer.model.softPenalty;
  return seconds;
}

void SbpSelection::weighEdge(Edge &edge, size_t axis) {
  const Node &producer = nodes[edge.producer];
  const Node &consumer = nodes[edge.consumer];
  edge.costs.assign(producer.options.size() * consumer.options.size(), 0);
  if (axis >= producer.mesh.size() ||
      axis >= PlacementOp(consumer.source).getMesh().size())
    return;
  sbp::Shape local = sbp::ceilingShape(producer.chosen.results[edge.result],
                                       producer.resultShapes[edge.result],
                                       prefixOf(producer.mesh, axis));
  std::map<std::pair<sbp::Sbp, sbp::Sbp>, double> known;
  auto cost = edge.costs.begin();
  for (const sbp::Signature &a : producer.options)
    for (const sbp::Signature &b : consumer.options) {
      auto states =
          std::make_pair(a.results[edge.result], b.operands[edge.operand]);
      auto [entry, isNew] = known.try_emplace(states, 0.0);
      if (isNew)
        entry->second =
            edgeSeconds(edge, states.first, states.second, local, axis);
      *cost++ = entry->second;
    }
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

std::vector<unsigned> SbpSelection::solve() const {
  // Nodes without a choice become part of their neighbors' costs: what is left
  // is smaller, and more of it is solved without heuristics.
  std::vector<std::vector<double>> costs;
  for (const Node &node : nodes)
    costs.push_back(node.costs);
  for (const Edge &edge : edges) {
    size_t rows = costs[edge.producer].size(),
           columns = costs[edge.consumer].size();
    if (rows == 1)
      for (size_t b = 0; b < columns; ++b)
        costs[edge.consumer][b] += edge.costs[b];
    else if (columns == 1)
      for (size_t a = 0; a < rows; ++a)
        costs[edge.producer][a] += edge.costs[a];
  }

  sbp::SelectionProblem problem;
  std::vector<unsigned> problemNode(nodes.size(), 0);
  for (auto [index, cost] : llvm::enumerate(costs))
    if (cost.size() > 1)
      problemNode[index] = problem.addNode(std::move(cost));
  for (const Edge &edge : edges)
    if (nodes[edge.producer].options.size() > 1 &&
        nodes[edge.consumer].options.size() > 1)
      problem.addEdge(problemNode[edge.producer], problemNode[edge.consumer],
                      edge.costs);
  sbp::SelectionProblem::Solution solution = problem.solve();

  std::vector<unsigned> options(nodes.size(), 0);
  for (auto [index, node] : llvm::enumerate(nodes))
    if (node.options.size() > 1)
      options[index] = solution.options[problemNode[index]];
  return options;
}

LogicalResult SbpSelection::selectAxis(size_t axis) {
  bool ok = true;
  for (Node &node : nodes)
    ok &= succeeded(findOptions(node, axis));
  if (!ok)
    return failure();
  splitsInputs = llvm::any_of(nodes, [](const Node &node) {
    Operation *op = node.op;
    return isa<InputOp>(op) && node.options.size() == 1 &&
           node.options[0].results[0].isSplit();
  });
  for (Edge &edge : edges)
    weighEdge(edge, axis);
  std::vector<unsigned> options = solve();
  for (auto [index, node] : llvm::enumerate(nodes))
    if (axis < node.mesh.size())
      node.reasons.push_back(explainChoice(index, options, axis));
  for (auto [index, node] : llvm::enumerate(nodes)) {
    if (node.carried) {
      auto take = [&](std::vector<sbp::NdSbp> &chosen,
                      const std::vector<sbp::NdSbp> &carried) {
        for (auto [state, whole] : llvm::zip(chosen, carried))
          if (axis < whole.size())
            state.push_back(whole[axis]);
      };
      take(node.chosen.operands, node.carried->operands);
      take(node.chosen.results, node.carried->results);
    } else if (axis < node.mesh.size()) {
      const sbp::Signature &option = node.options[options[index]];
      for (auto [state, sbp] : llvm::zip(node.chosen.operands, option.operands))
        state.push_back(sbp);
      for (auto [state, sbp] : llvm::zip(node.chosen.results, option.results))
        state.push_back(sbp);
    }
  }
  return success();
}

LogicalResult SbpSelection::run() {
  if (failed(collect()))
    return failure();
  size_t axes = 0;
  for (const Node &node : nodes)
    axes = std::max(
        {axes, node.mesh.size(), PlacementOp(node.source).getMesh().size()});
  for (size_t axis = 0; axis < axes; ++axis)
    if (failed(selectAxis(axis)))
      return failure();
  return success();
}

void SbpSelection::write() {
  for (Node &node : nodes)
    node.op.setSignatureAttr(
        SignatureAttr::get(node.op->getContext(), node.chosen));
}

//===----------------------------------------------------------------------===//
// Explanation
//===----------------------------------------------------------------------===//

std::string SbpSelection::explainChoice(unsigned index,
                                        const std::vector<unsigned> &options,
                                        size_t axis) const {
  const Node &node = nodes[index];
  if (node.carried)
    return "pinned by its signature";
  if (const StatePins *pinned = pins.lookup(node.op))
    if ((*pinned)[axis])
      return "pinned by " + (*pinned)[axis]->reason;
  if (node.options.size() == 1)
    return "nothing else is allowed";

  auto edgeCost = [&](const Edge &edge, unsigned option) {
    unsigned a = edge.producer == index ? option : options[edge.producer];
    unsigned b = edge.consumer == index ? option : options[edge.consumer];
    return edge.costs[a * nodes[edge.consumer].options.size() + b];
  };
  auto total = [&](unsigned option) {
    double seconds = node.costs[option];
    for (unsigned edge : incident[index])
      seconds += edgeCost(edges[edge], option);
    return seconds;
  };
  unsigned chosen = options[index];
  double ours = total(chosen);
  std::optional<unsigned> best;
  for (unsigned option = 0; option < node.options.size(); ++option)
    if (option != chosen && (!best || total(option) < total(*best)))
      best = option;
  std::string alternative = sbp::toString(node.options[*best]);
  double gain = total(*best) - ours;
  if (gain < node.model.softPenalty) {
    if (gain <= 0)
      return "no dearer than " + alternative;
    std::string text;
    llvm::raw_string_ostream(text) << "cheaper than " << alternative << " by "
                                   << llvm::format("%.3g", gain * 1e6) << " us";
    return text;
  }
  // Some neighbor would have to be split anew: name the one that costs most.
  const Edge *dearest = nullptr;
  double most = 0;
  for (unsigned number : incident[index]) {
    double more =
        edgeCost(edges[number], *best) - edgeCost(edges[number], chosen);
    if (more > most) {
      most = more;
      dearest = &edges[number];
    }
  }
  if (!dearest)
    return "cheaper than " + alternative;
  if (dearest->consumer == index)
    return "follows operand " + std::to_string(dearest->operand);
  return "fits the use by " +
         nodes[dearest->consumer].op->getName().getStringRef().str();
}

void SbpSelection::explain() {
  for (Node &node : nodes) {
    InFlightDiagnostic remark = node.op->emitRemark("sbp ")
                                << sbp::toString(node.chosen);
    for (auto [axis, reason] : llvm::enumerate(node.reasons))
      remark << "; " << axisName(node.placement, axis) << ": " << reason;
  }
}
