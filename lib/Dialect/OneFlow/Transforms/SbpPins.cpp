//===- SbpPins.cpp - what SBP inference must not change -------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects pins in the order of their weight: what the input carries, hints,
// then what follows by default for variables and inputs.
//
//===----------------------------------------------------------------------===//

#include "SbpPins.h"

using namespace mlir;
using namespace oneflow;

/// What the algebra allows for a tensor that may be split anywhere, such as a
/// variable.
static std::optional<std::string> checkStorage(const sbp::NdSbp &state,
                                               const sbp::Shape &shape,
                                               const sbp::Mesh &mesh) {
  sbp::OpRule rule;
  sbp::TensorFactors factors;
  for (auto [dim, extent] : llvm::enumerate(shape))
    factors.push_back({rule.addFactor("d" + std::to_string(dim), extent)});
  rule.results.push_back(factors);
  return sbp::checkSignature(rule, {{}, {state}}, {}, {shape}, mesh);
}

static FailureOr<PlacementOp> placementOf(Operation *op) {
  if (auto spread = dyn_cast<SpreadOpInterface>(op))
    return requirePlacement(spread);
  auto variable = cast<VariableOp>(op);
  if (PlacementOp placement =
          lookupPlacement(variable, variable.getPlacementAttr()))
    return placement;
  return variable.emitOpError("expected a placement, got none; "
                              "oneflow-place gives every variable one");
}

/// The variable that an op reads, updates or has the gradient of, null for
/// others.
static FlatSymbolRefAttr variableOf(Operation *op) {
  if (auto read = dyn_cast<ReadOp>(op))
    return read.getVariableAttr();
  if (auto update = dyn_cast<UpdateOp>(op))
    return update.getVariableAttr();
  if (auto gradient = dyn_cast<GradientOp>(op))
    return gradient.getVariableAttr();
  return {};
}

/// The only state of an op that has either an operand or a result.
static sbp::NdSbp onlyState(SignatureAttr signature) {
  return signature.getResults().empty() ? signature.getOperands()[0].toNdSbp()
                                        : signature.getResults()[0].toNdSbp();
}

/// The ops that give the results of each named node of a function: a node may
/// have become several ops in a row. Later ops of that name are its gradient,
/// whose results are other tensors.
static llvm::MapVector<StringRef, SmallVector<Operation *>>
nodesOf(func::FuncOp function) {
  llvm::MapVector<StringRef, SmallVector<Operation *>> nodes;
  StringRef current;
  bool open = false;
  function.walk([&](SpreadOpInterface op) {
    if (isa<InputOp, OutputOp, ReadOp, UpdateOp, GradientOp, ConstantOp>(
            op.getOperation()))
      return;
    StringRef name = nodeNameOf(op.getLoc());
    if (!open || name != current) {
      current = name;
      open = !name.empty() && !nodes.count(name);
    }
    if (open)
      nodes[name].push_back(op);
  });
  for (auto &node : nodes) {
    StringRef name = node.first;
    SmallVector<Operation *> leaves;
    for (Operation *op : node.second)
      if (op == node.second.back() ||
          llvm::any_of(op->getUsers(), [&](Operation *user) {
            return nodeNameOf(user->getLoc()) != name;
          }))
        leaves.push_back(op);
    node.second = std::move(leaves);
  }
  return nodes;
}

FailureOr<SbpPins> SbpPins::collect(ModuleOp module,
                                    ArrayRef<std::string> hints) {
  SbpPins pins(module);
  if (failed(pins.pinStorages()))
    return failure();
  bool ok = true;
  for (const std::string &text : hints) {
    std::string error;
    std::optional<sbp::Hint> hint = sbp::parseHint(text, &error);
    if (!hint) {
      emitError(module.getLoc()) << "option hints: " << error;
      ok = false;
      continue;
    }
    ok &= succeeded(pins.applyHint(*hint));
  }
  if (!ok || failed(pins.pinBySignatures()) || failed(pins.finishVariables()) ||
      failed(pins.followVariables()) || failed(pins.defaultInputs()))
    return failure();
  return pins;
}

const StatePins *SbpPins::lookup(Operation *op) const {
  auto known = pins.find(op);
  return known == pins.end() ? nullptr : &known->second;
}

sbp::NdSbp SbpPins::storageOf(VariableOp variable) const {
  sbp::NdSbp state;
  for (const std::optional<SbpPin> &axis : *lookup(variable))
    state.push_back(axis->sbp);
  return state;
}

LogicalResult SbpPins::pin(Operation *op, PlacementOp placement, size_t axis,
                           SbpPin pin, Operation *use) {
  StatePins &state = pins[op];
  state.resize(placement.getAxisSizes().size());
  std::optional<SbpPin> &known = state[axis];
  if (known && known->sbp != pin.sbp) {
    InFlightDiagnostic error =
        op->emitOpError("along '")
        << axisName(placement, axis) << "': " << pin.reason << " asks for "
        << sbp::toString(pin.sbp) << ", but " << known->reason << " asks for "
        << sbp::toString(known->sbp);
    if (use)
      error.attachNote(use->getLoc()) << "by this use";
    return failure();
  }
  if (!known)
    known = std::move(pin);
  return success();
}

LogicalResult SbpPins::pinStorages() {
  for (VariableOp variable : module.getOps<VariableOp>()) {
    FailureOr<PlacementOp> placement = placementOf(variable);
    if (failed(placement))
      return failure();
    NdSbpAttr storage = variable.getStorageAttr();
    if (!storage)
      continue;
    if (storage.getAxes().size() != placement->getAxisSizes().size())
      return variable.emitOpError("sbp_c1: expected one Sbp for each of the ")
             << placement->getAxisSizes().size() << " axes of @"
             << placement->getSymName()
             << ", got: " << sbp::toString(storage.toNdSbp());
    for (auto [axis, sbp] : llvm::enumerate(storage.getAxes()))
      if (failed(pin(variable, *placement, axis, {sbp, "its storage"})))
        return failure();
  }
  return success();
}

LogicalResult SbpPins::applyHint(const sbp::Hint &hint) {
  std::vector<std::string> names;
  SmallVector<Operation *> matched;
  auto offer = [&](StringRef name, ArrayRef<Operation *> ops) {
    if (name.empty())
      return;
    names.push_back(name.str());
    if (sbp::matchesPattern(hint.pattern, names.back()))
      matched.append(ops.begin(), ops.end());
  };
  for (VariableOp variable : module.getOps<VariableOp>())
    offer(variable.getSymName(), variable.getOperation());
  for (auto function : module.getOps<func::FuncOp>()) {
    function.walk(
        [&](InputOp input) { offer(input.getName(), input.getOperation()); });
    for (auto &[name, ops] : nodesOf(function))
      offer(name, ops);
  }
  if (matched.empty()) {
    InFlightDiagnostic error = emitError(module.getLoc())
                               << "hint '" << hint.text
                               << "' matches no variable, input or node";
    if (!names.empty())
      error << "; nearest name: " << sbp::nearestName(hint.pattern, names);
    return failure();
  }
  for (Operation *op : matched) {
    FailureOr<PlacementOp> placement = placementOf(op);
    if (failed(placement))
      return failure();
    int64_t axis = placement->findAxis(hint.axis);
    if (axis < 0) {
      InFlightDiagnostic error = op->emitOpError("hint '")
                                 << hint.text << "': @"
                                 << placement->getSymName() << " has no axis '"
                                 << hint.axis << "', its axes: ";
      llvm::interleaveComma(placement->getAxisNames().getAsRange<StringAttr>(),
                            error,
                            [&](StringAttr name) { error << name.getValue(); });
      return failure();
    }
    if (failed(
            pin(op, *placement, axis, {hint.sbp, "hint '" + hint.text + "'"})))
      return failure();
  }
  return success();
}

LogicalResult SbpPins::pinBySignatures() {
  SymbolTableCollection symbols;
  WalkResult result = module.walk([&](SpreadOpInterface op) {
    SignatureAttr signature = op.getSignatureAttr();
    if (!signature)
      return WalkResult::advance();
    if (failed(verifySignature(op)))
      return WalkResult::interrupt();
    FailureOr<PlacementOp> placement = requirePlacement(op);
    if (FlatSymbolRefAttr symbol = variableOf(op)) {
      auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(op, symbol);
      if (!variable || variable.getPlacementAttr() != op.getPlacementAttr() ||
          isa<GradientOp>(op.getOperation()))
        return WalkResult::advance();
      for (auto [axis, sbp] : llvm::enumerate(onlyState(signature)))
        if (failed(pin(variable, *placement, axis,
                       {sbp, "the signature of a use"}, op)))
          return WalkResult::interrupt();
      return WalkResult::advance();
    }
    // Only to see contradictions: hints pin every result alike.
    if (pins.count(op))
      for (NdSbpAttr state : signature.getResults())
        for (auto [axis, sbp] : llvm::enumerate(state.getAxes()))
          if (pins[op][axis] &&
              failed(pin(op, *placement, axis, {sbp, "its signature"})))
            return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult SbpPins::finishVariables() {
  for (VariableOp variable : module.getOps<VariableOp>()) {
    llvm::SmallPtrSet<Operation *, 4> open;
    if (failed(finishVariable(variable, open)))
      return failure();
  }
  return success();
}

LogicalResult
SbpPins::finishVariable(VariableOp variable,
                        llvm::SmallPtrSetImpl<Operation *> &open) {
  FailureOr<PlacementOp> placement = placementOf(variable);
  if (failed(placement))
    return failure();
  if (!open.insert(variable).second)
    return variable.emitOpError("is like itself, by way of ")
           << variable.getLikeAttr();

  size_t axes = placement->getAxisSizes().size();
  StatePins state(axes);
  if (const StatePins *known = lookup(variable))
    state = *known;
  if (FlatSymbolRefAttr symbol = variable.getLikeAttr()) {
    auto parameter =
        SymbolTable::lookupNearestSymbolFrom<VariableOp>(variable, symbol);
    if (!parameter)
      return variable.emitOpError("expected the symbol of a variable after "
                                  "'like', got: ")
             << symbol;
    if (failed(finishVariable(parameter, open)))
      return failure();
    if (parameter.getPlacementAttr() == variable.getPlacementAttr())
      for (size_t axis = 0; axis < axes; ++axis)
        if (!state[axis])
          state[axis] = {(*lookup(parameter))[axis]->sbp,
                         "being like @" + parameter.getSymName().str()};
  }
  for (std::optional<SbpPin> &axis : state)
    if (!axis)
      axis = {sbp::Sbp::broadcast(), "default: variables are broadcast"};
  pins[variable] = state;
  open.erase(variable);

  auto type = cast<RankedTensorType>(variable.getType());
  sbp::Shape shape(type.getShape().begin(), type.getShape().end());
  if (auto reason =
          checkStorage(storageOf(variable), shape, placement->getMesh())) {
    InFlightDiagnostic error = variable.emitOpError() << *reason;
    for (auto [axis, pin] : llvm::enumerate(state))
      if (!pin->sbp.isBroadcast())
        error.attachNote() << sbp::toString(pin->sbp) << " along '"
                           << axisName(*placement, axis) << "' is asked for by "
                           << pin->reason;
    return failure();
  }
  return success();
}

LogicalResult SbpPins::followVariables() {
  SymbolTableCollection symbols;
  WalkResult result = module.walk([&](SpreadOpInterface op) {
    FlatSymbolRefAttr symbol = variableOf(op);
    if (!symbol)
      return WalkResult::advance();
    auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(op, symbol);
    if (!variable) {
      op->emitOpError("expected the symbol of a variable, got: ") << symbol;
      return WalkResult::interrupt();
    }
    if (variable.getPlacementAttr() != op.getPlacementAttr()) {
      op->emitOpError("expected the variable's placement ")
          << variable.getPlacementAttr() << ", got: " << op.getPlacementAttr();
      return WalkResult::interrupt();
    }
    StatePins state = *lookup(variable);
    for (std::optional<SbpPin> &axis : state)
      axis->reason = "the storage of @" + symbol.getValue().str() + " (" +
                     axis->reason + ")";
    pins[op] = std::move(state);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult SbpPins::defaultInputs() {
  WalkResult result = module.walk([&](InputOp input) {
    if (input.getSignatureAttr())
      return WalkResult::advance();
    FailureOr<PlacementOp> placement =
        requirePlacement(cast<SpreadOpInterface>(input.getOperation()));
    if (failed(placement) || failed(requireStaticShapes(input)))
      return WalkResult::interrupt();
    sbp::Mesh mesh = placement->getMesh();
    int64_t axis = placement->findAxis("dp");
    StatePins state(mesh.size());
    if (const StatePins *known = lookup(input))
      state = *known;
    // An axis of one rank splits nothing; boxing along it would only be in the
    // way.
    if (axis < 0 || mesh[axis] == 1 || state[axis])
      return WalkResult::advance();
    state[axis] = {sbp::Sbp::split(0), "default: inputs are split along dp"};
    sbp::NdSbp split;
    for (const std::optional<SbpPin> &pin : state)
      split.push_back(pin ? pin->sbp : sbp::Sbp::broadcast());
    if (auto reason = checkStorage(split, shapeOf(input.getResult()), mesh)) {
      // A scalar is no batch.
      if (!shapeOf(input.getResult()).empty())
        input.emitWarning(
            "cannot be split along 'dp', so that every rank of it "
            "computes on the whole input: ")
            << *reason;
      state[axis] = {sbp::Sbp::broadcast(),
                     "default: this input cannot be split along dp"};
    }
    pins[input] = std::move(state);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
