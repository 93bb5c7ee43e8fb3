//===- SbpGraph.cpp - nodes and edges of SBP selection --------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the graph over which signatures are chosen: ops and variables, the
// values between them, and one more node where a value has several consumers.
//
//===----------------------------------------------------------------------===//

#include "SbpSelection.h"

#include <map>

using namespace mlir;
using namespace oneflow;

SbpSelection::Node SbpSelection::makeNode(Node::Kind kind, Operation *op,
                                          PlacementOp placement,
                                          PlacementOp source) const {
  Node node;
  node.kind = kind;
  node.op = op;
  node.placement = placement;
  node.source = source;
  node.mesh = placement.getMesh();
  node.model = costModelOf(placement);
  return node;
}

void SbpSelection::findDataAxes() {
  module->walk([&](InputOp input) {
    FailureOr<PlacementOp> placement =
        requirePlacement(cast<SpreadOpInterface>(input.getOperation()));
    if (failed(placement))
      return;
    sbp::Mesh mesh = placement->getMesh();
    SmallVector<bool> &splits = dataAxes[*placement];
    splits.resize(mesh.size(), false);
    const OpPins *pinned = pins.lookup(input);
    for (size_t axis = 0; axis < mesh.size(); ++axis) {
      if (mesh[axis] == 1)
        continue;
      if (SignatureAttr carried = input.getSignatureAttr())
        splits[axis] |= carried.getResults()[0].getAxes()[axis].isSplit();
      else if (pinned)
        if (const SbpPin *pin = pinAt(pinned->results, 0, axis))
          splits[axis] |= pin->sbp.isSplit();
    }
  });
}

bool SbpSelection::isDataAxis(const Node &node, size_t axis) const {
  auto known = dataAxes.find(node.placement);
  return known != dataAxes.end() && axis < known->second.size() &&
         known->second[axis];
}

LogicalResult SbpSelection::addVariables() {
  for (VariableOp variable : module.getOps<VariableOp>()) {
    PlacementOp placement =
        lookupPlacement(variable, variable.getPlacementAttr());
    Node node = makeNode(Node::Kind::Variable, variable, placement, placement);
    ArrayRef<int64_t> extents = variable.getTensorType().getShape();
    sbp::Shape shape(extents.begin(), extents.end());
    node.operandShapes = node.resultShapes = {shape};
    node.chosen.operands.resize(1);
    node.chosen.results.resize(1);
    auto allow = [&](const sbp::Sbp &state) {
      node.allowed.push_back({{state}, {state}});
    };
    allow(sbp::Sbp::broadcast());
    for (size_t dim = 0; dim < shape.size(); ++dim)
      allow(sbp::Sbp::split(static_cast<int64_t>(dim)));

    VariableOp parent;
    if (FlatSymbolRefAttr like = variable.getLikeAttr()) {
      parent = SymbolTable::lookupNearestSymbolFrom<VariableOp>(variable, like);
      if (parent.getPlacementAttr() != variable.getPlacementAttr())
        parent = nullptr;
    }
    // Where the batch is split, ranks share the work already: a variable is
    // split there only if the user asks for it.
    StatePins state = pins.storageOf(variable);
    for (size_t axis = 0; axis < state.size(); ++axis)
      if (isDataAxis(node, axis) && !state[axis] && !parent)
        state[axis] = {sbp::Sbp::broadcast(),
                       "default: variables are whole along an axis that "
                       "splits inputs"};
    node.pins.operands = node.pins.results = {state};
    index[variable] = nodes.size();
    nodes.push_back(std::move(node));
  }
  for (VariableOp variable : module.getOps<VariableOp>()) {
    FlatSymbolRefAttr like = variable.getLikeAttr();
    if (!like)
      continue;
    auto parent =
        SymbolTable::lookupNearestSymbolFrom<VariableOp>(variable, like);
    if (parent.getPlacementAttr() != variable.getPlacementAttr())
      continue;
    unsigned own = index.at(variable), other = index.at(parent);
    StatePins &state = nodes[own].pins.results[0];
    for (auto [axis, pin] : llvm::enumerate(nodes[other].pins.results[0]))
      if (pin && !state[axis])
        state[axis] = {pin->sbp, "being like @" + parent.getSymName().str()};
    nodes[own].pins.operands[0] = state;
    edges.push_back({other, 0, own, 0, /*ties=*/true, 1, {}});
  }
  return success();
}

LogicalResult SbpSelection::addOp(SpreadOpInterface op) {
  FailureOr<PlacementOp> placement = requirePlacement(op);
  FailureOr<PlacementOp> source = requireOperandPlacement(op);
  if (failed(placement) || failed(source) || failed(requireStaticShapes(op)))
    return failure();
  FlatSymbolRefAttr symbol = variableOf(op);
  unsigned consumer = nodes.size();
  bool dependsOnInput = isa<InputOp>(op.getOperation());
  if (symbol) {
    auto variable =
        SymbolTable::lookupNearestSymbolFrom<VariableOp>(op, symbol);
    consumer = index.at(variable);
    nodes[consumer].uses.push_back(op);
  }
  for (OpOperand &operand : op->getOpOperands()) {
    FailureOr<SpreadOpInterface> producer = requireProducer(operand);
    if (failed(producer))
      return failure();
    auto known = index.find(*producer);
    if (known == index.end())
      return op->emitOpError("expected operand ")
             << operand.getOperandNumber() << " to be computed before it";
    dependsOnInput |= nodes[known->second].dependsOnInput;
    // An update by what was read changes nothing.
    if (known->second != consumer)
      edges.push_back({known->second,
                       cast<OpResult>(operand.get()).getResultNumber(),
                       consumer,
                       symbol ? 0 : operand.getOperandNumber(),
                       /*ties=*/false,
                       elementBytesOf(operand.get()),
                       {}});
  }
  index[op] = consumer;
  if (symbol)
    return success();

  Node node = makeNode(Node::Kind::Op, op, *placement, *source);
  node.operandShapes = shapesOf(op->getOperands());
  node.resultShapes = shapesOf(op->getResults());
  node.chosen.operands.resize(op->getNumOperands());
  node.chosen.results.resize(op->getNumResults());
  node.dependsOnInput = dependsOnInput;
  if (const OpPins *pinned = pins.lookup(op))
    node.pins = *pinned;
  if (SignatureAttr signature = op.getSignatureAttr())
    node.carried = signature.toNdSignature();
  else if (isa<BoxingOp>(op.getOperation()))
    return op->emitOpError(
        "expected a signature: it alone says what a boxing does");
  node.allowed = sbp::enumerateSignatures(op.getSbpRule());
  nodes.push_back(std::move(node));
  return success();
}

void SbpSelection::addDeliveries() {
  // By value: the edges that begin at it.
  std::map<std::pair<unsigned, unsigned>, std::vector<unsigned>> uses;
  for (auto [number, edge] : llvm::enumerate(edges))
    if (!edge.ties &&
        nodes[edge.producer].placement == nodes[edge.consumer].source)
      uses[{edge.producer, edge.result}].push_back(number);
  for (auto &[value, numbers] : uses) {
    auto [producer, result] = value;
    std::set<unsigned> consumers;
    for (unsigned number : numbers)
      consumers.insert(edges[number].consumer);
    if (consumers.size() < 2)
      continue;
    Node node = makeNode(Node::Kind::Delivery, nodes[producer].op,
                         nodes[producer].placement, nodes[producer].placement);
    node.operandShapes =
        node.resultShapes = {nodes[producer].resultShapes[result]};
    node.chosen.operands.resize(1);
    node.chosen.results.resize(1);
    node.dependsOnInput = nodes[producer].dependsOnInput;
    unsigned delivery = nodes.size();
    nodes.push_back(std::move(node));
    int64_t bytes = edges[numbers.front()].elementBytes;
    for (unsigned number : numbers) {
      edges[number].producer = delivery;
      edges[number].result = 0;
    }
    edges.push_back({producer, result, delivery, 0, /*ties=*/false, bytes, {}});
  }
}

LogicalResult SbpSelection::collect() {
  findDataAxes();
  if (failed(addVariables()))
    return failure();
  for (auto function : module.getOps<func::FuncOp>()) {
    WalkResult result = function.walk([&](SpreadOpInterface op) {
      return failed(addOp(op)) ? WalkResult::interrupt()
                               : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  addDeliveries();
  incident.resize(nodes.size());
  for (auto [number, edge] : llvm::enumerate(edges)) {
    incident[edge.producer].push_back(number);
    incident[edge.consumer].push_back(number);
  }
  for (const Node &node : nodes) {
    for (const sbp::Signature &signature : node.allowed)
      for (const auto *states : {&signature.operands, &signature.results})
        for (const sbp::Sbp &state : *states)
          if (state.block > 1)
            blocks.insert(state.block);
    for (const auto *states : {&node.pins.operands, &node.pins.results})
      for (const StatePins &state : *states)
        for (const std::optional<SbpPin> &pin : state)
          if (pin && pin->sbp.block > 1)
            blocks.insert(pin->sbp.block);
  }
  return success();
}
