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

#include "oneflow/Dialect/OneFlow/IR/Parts.h"

using namespace mlir;
using namespace oneflow;

/// The only state of an op that has either an operand or a result.
static sbp::NdSbp onlyState(SignatureAttr signature) {
  return signature.getResults().empty() ? signature.getOperands()[0].toNdSbp()
                                        : signature.getResults()[0].toNdSbp();
}

FailureOr<SbpPins> SbpPins::collect(ModuleOp module,
                                    ArrayRef<std::string> texts) {
  SbpPins pins(module);
  if (failed(pins.pinStorages()) || failed(pins.pinShardings()) ||
      failed(pins.pinAttributes()))
    return failure();
  bool ok = true;
  for (const std::string &text :
       sbp::joinHints(std::vector<std::string>(texts.begin(), texts.end()))) {
    std::string error;
    std::optional<sbp::Hint> hint = sbp::parseHint(text, &error);
    if (!hint) {
      emitError(module.getLoc()) << "option hints: " << error;
      ok = false;
      continue;
    }
    ok &= succeeded(pins.applyHint(*hint));
  }
  if (!ok || failed(pins.pinBySignatures()) || failed(pins.checkLikenesses()) ||
      failed(pins.checkStates()) || failed(pins.defaultInputs()))
    return failure();
  return pins;
}

const OpPins *SbpPins::lookup(Operation *op) const {
  auto known = pins.find(op);
  return known == pins.end() ? nullptr : &known->second;
}

const StatePins &SbpPins::storageOf(VariableOp variable) const {
  return storages.find(variable)->second;
}

void SbpPins::eraseAttributes(ModuleOp module) {
  module.walk([](Operation *op) {
    op->removeDiscardableAttr(kSbpAttrName);
    op->removeDiscardableAttr(kShardingAttrName);
    op->removeDiscardableAttr(kPackedAttrName);
  });
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

SbpPins::Target SbpPins::ownTarget(Operation *op) {
  if (isa<VariableOp>(op))
    return {op, Target::Kind::Storage};
  return {op,
          op->getNumResults() ? Target::Kind::Result : Target::Kind::Operand};
}

SbpPins::Target SbpPins::resultTarget(OpResult result) {
  return {result.getOwner(), Target::Kind::Result, result.getResultNumber()};
}

SbpPins::Target SbpPins::operandTarget(OpOperand &operand) {
  return {operand.getOwner(), Target::Kind::Operand,
          operand.getOperandNumber()};
}

std::string SbpPins::nameOf(const Target &target) {
  if (target.kind == Target::Kind::Storage || isa<InputOp>(target.op))
    return "";
  return (target.kind == Target::Kind::Operand ? "operand " : "result ") +
         std::to_string(target.index) + " ";
}

sbp::Shape SbpPins::shapeOf(const Target &target) {
  if (auto variable = dyn_cast<VariableOp>(target.op)) {
    ArrayRef<int64_t> shape = variable.getTensorType().getShape();
    return sbp::Shape(shape.begin(), shape.end());
  }
  return oneflow::shapeOf(target.kind == Target::Kind::Operand
                              ? target.op->getOperand(target.index)
                              : Value(target.op->getResult(target.index)));
}

FailureOr<PlacementOp> SbpPins::placementOf(const Target &target) {
  if (auto variable = dyn_cast<VariableOp>(target.op)) {
    if (PlacementOp placement =
            lookupPlacement(variable, variable.getPlacementAttr()))
      return placement;
    return variable.emitOpError("expected a placement, got none; "
                                "oneflow-place gives every variable one");
  }
  auto spread = cast<SpreadOpInterface>(target.op);
  return target.kind == Target::Kind::Operand ? requireOperandPlacement(spread)
                                              : requirePlacement(spread);
}

StatePins &SbpPins::stateOf(const Target &target) {
  if (target.kind == Target::Kind::Storage)
    return storages[target.op];
  OpPins &known = pins[target.op];
  known.operands.resize(target.op->getNumOperands());
  known.results.resize(target.op->getNumResults());
  return target.kind == Target::Kind::Operand ? known.operands[target.index]
                                              : known.results[target.index];
}

//===----------------------------------------------------------------------===//
// Pins
//===----------------------------------------------------------------------===//

LogicalResult SbpPins::pin(const Target &target, PlacementOp placement,
                           size_t axis, SbpPin pin, Operation *use) {
  StatePins &state = stateOf(target);
  state.resize(placement.getAxisSizes().size());
  std::optional<SbpPin> &known = state[axis];
  if (known && known->sbp != pin.sbp) {
    InFlightDiagnostic error =
        target.op->emitOpError()
        << nameOf(target) << "along '" << axisName(placement, axis)
        << "': " << pin.reason << " asks for " << sbp::toString(pin.sbp)
        << ", but " << known->reason << " asks for "
        << sbp::toString(known->sbp);
    if (use)
      error.attachNote(use->getLoc()) << "by this use";
    return failure();
  }
  if (!known)
    known = std::move(pin);
  return success();
}

LogicalResult SbpPins::pinHint(const Target &target, const sbp::Hint &hint,
                               const std::string &reason) {
  FailureOr<PlacementOp> placement = placementOf(target);
  if (failed(placement))
    return failure();
  std::vector<std::string> axes;
  for (auto name : placement->getAxisNames().getAsRange<StringAttr>())
    axes.push_back(name.str());
  if (std::optional<std::string> mistake = sbp::checkAxes(hint, axes))
    return target.op->emitOpError()
           << reason << ": @" << placement->getSymName() << ": " << *mistake;
  if (!hint.isClosed())
    return pin(target, *placement,
               static_cast<size_t>(placement->findAxis(hint.axis)),
               {*hint.sbps[0], reason});
  for (auto [axis, sbp] : llvm::enumerate(hint.sbps))
    if (sbp && failed(pin(target, *placement, axis, {*sbp, reason})))
      return failure();
  return success();
}

LogicalResult SbpPins::pinStorages() {
  for (VariableOp variable : module.getOps<VariableOp>()) {
    Target target = ownTarget(variable);
    FailureOr<PlacementOp> placement = placementOf(target);
    if (failed(placement))
      return failure();
    stateOf(target).resize(placement->getAxisSizes().size());
    NdSbpAttr storage = variable.getStorageAttr();
    if (!storage)
      continue;
    if (storage.getAxes().size() != placement->getAxisSizes().size())
      return variable.emitOpError("sbp_c1: expected one Sbp for each of the ")
             << placement->getAxisSizes().size() << " axes of @"
             << placement->getSymName()
             << ", got: " << sbp::toString(storage.toNdSbp());
    for (auto [axis, sbp] : llvm::enumerate(storage.getAxes()))
      if (failed(pin(target, *placement, axis, {sbp, "its storage"})))
        return failure();
  }
  return success();
}

LogicalResult SbpPins::pinAttributes() {
  bool ok = true;
  module.walk([&](Operation *op) {
    auto texts = op->getAttrOfType<ArrayAttr>(kSbpAttrName);
    if (!texts)
      return;
    for (auto text : texts.getAsRange<StringAttr>()) {
      // The dialect verified that it can be read, and that there is what it
      // speaks of.
      std::optional<sbp::Hint> hint = sbp::parsePin(text.getValue());
      if (!hint)
        continue;
      Target target = ownTarget(op);
      if (hint->endpoint == sbp::Hint::Endpoint::Operand)
        target = {op, Target::Kind::Operand, hint->index};
      if (hint->endpoint == sbp::Hint::Endpoint::Result)
        target = {op, Target::Kind::Result, hint->index};
      ok &= succeeded(
          pinHint(target, *hint,
                  ("its " + kSbpAttrName + " '" + hint->text + "'").str()));
    }
  });
  return success(ok);
}

//===----------------------------------------------------------------------===//
// Hints
//===----------------------------------------------------------------------===//

/// "2 operands (x, fc1.weight) and 1 result".
static std::string describe(const SbpNode &node) {
  auto count = [](size_t number, const char *noun) {
    return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
  };
  std::string text = count(node.operands.size(), "operand");
  std::string names;
  for (const SbpNode::Operand &operand : node.operands)
    names += (names.empty() ? "" : ", ") +
             (operand.name.empty() ? "unnamed" : operand.name);
  if (!names.empty())
    text += " (" + names + ")";
  return text + " and " + count(node.results.size(), "result");
}

/// How the names of what training adds to a model begin or read.
constexpr StringLiteral kOptimizerPrefix = "optimizer.", kLossName = "loss";

static bool hasWildcard(StringRef pattern) {
  return pattern.find_first_of("*?") != StringRef::npos;
}

/// Whether a pattern that matches much does not mean the variable: optimizer
/// state follows its parameter where both match, and what the model itself does
/// not have must be named.
static bool isAside(StringRef pattern, VariableOp variable) {
  if (!hasWildcard(pattern))
    return false;
  if (FlatSymbolRefAttr like = variable.getLikeAttr())
    return sbp::matchesPattern(pattern, like.getValue());
  return variable.getSymName().starts_with(kOptimizerPrefix) &&
         !pattern.starts_with(kOptimizerPrefix);
}

OutputOp SbpPins::findOutput(StringRef pattern) {
  OutputOp found;
  module.walk([&](OutputOp output) {
    if (!found && sbp::matchesPattern(pattern, output.getName().str()))
      found = output;
  });
  return found;
}

LogicalResult SbpPins::applyHint(const sbp::Hint &hint) {
  using Endpoint = sbp::Hint::Endpoint;
  std::vector<std::string> names;
  SmallVector<Target> targets;
  // What the pattern matches but that has no such endpoint.
  Operation *without = nullptr;
  std::string whatItHas, usedName;
  bool isNearestKnown = false, hasNodes = false;
  auto matches = [&](StringRef name) {
    if (name.empty())
      return false;
    names.push_back(name.str());
    return sbp::matchesPattern(hint.pattern, names.back());
  };
  auto matchWhole = [&](Operation *op, StringRef name, const char *what) {
    if (!matches(name))
      return;
    if (hint.endpoint == Endpoint::Self) {
      targets.push_back(ownTarget(op));
    } else if (!without) {
      without = op;
      usedName = name;
      whatItHas = std::string("the ") + what + " '" + name.str() +
                  "', but only nodes have operands and results";
    }
  };
  for (VariableOp variable : module.getOps<VariableOp>()) {
    if (isAside(hint.pattern, variable))
      continue;
    // A part answers to the name that the user knows, too.
    if (PartAttr part = variable.getPartAttr())
      matchWhole(variable, part.getWhole(), "variable");
    matchWhole(variable, variable.getSymName(), "variable");
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    function.walk([&](InputOp input) {
      // The labels of a loss that was attached; inputs of the model bear their
      // own names.
      StringRef from = nodeNameOf(input.getLoc());
      if (hasWildcard(hint.pattern) && from == kLossName &&
          input.getName() != from)
        return;
      matchWhole(input, input.getName(), "input");
    });
    auto eval = module.lookupSymbol<func::FuncOp>("eval");
    auto modelNodes = eval && eval != function
                          ? nodesOf(eval)
                          : llvm::MapVector<StringRef, SbpNode>();
    for (auto &[name, node] : nodesOf(function)) {
      hasNodes = true;
      // What training adds is not of the model.
      if (eval && eval != function && hasWildcard(hint.pattern) &&
          (name == kLossName || name.starts_with(kOptimizerPrefix)) &&
          !StringRef(hint.pattern).starts_with(kOptimizerPrefix) &&
          !modelNodes.count(name))
        continue;
      // Who asks how a variable or an input is used means a node that uses it.
      if (!usedName.empty() && !isNearestKnown)
        for (auto [number, operand] : llvm::enumerate(node.operands))
          if (operand.name == usedName && !isNearestKnown) {
            isNearestKnown = true;
            whatItHas += "; nearest: " + name.str() +
                         sbp::toString(Endpoint::Operand, number);
          }
      if (!matches(name))
        continue;
      if (hint.endpoint == Endpoint::Operand &&
          hint.index < node.operands.size()) {
        for (OpOperand *use : node.operands[hint.index].uses)
          targets.push_back(operandTarget(*use));
      } else if (hint.endpoint == Endpoint::Result &&
                 hint.index < node.results.size()) {
        for (OpResult part : node.results[hint.index])
          targets.push_back(resultTarget(part));
      } else if (hint.endpoint == Endpoint::Self && !node.results.empty()) {
        for (OpResult part : node.results[0])
          targets.push_back(resultTarget(part));
      } else if (!without || isa<VariableOp, InputOp>(without)) {
        without = node.ops.back();
        usedName.clear();
        bool isOperand = hint.endpoint == Endpoint::Operand;
        size_t count = isOperand ? node.operands.size() : node.results.size();
        whatItHas = "a node of " + describe(node);
        if (count)
          whatItHas += "; nearest: " + name.str() +
                       sbp::toString(hint.endpoint, count - 1);
      }
    }
  }
  if (targets.empty() && without)
    return without->emitOpError()
           << hint.describe() << " asks for "
           << StringRef(sbp::toString(hint.endpoint, hint.index)).drop_front()
           << " of " << whatItHas;
  if (targets.empty()) {
    if (OutputOp output = findOutput(hint.pattern)) {
      InFlightDiagnostic error =
          output.emitOpError()
          << hint.describe() << " matches only the output '" << output.getName()
          << "', and outputs are whole";
      Operation *producer = output.getValue().getDefiningOp();
      StringRef name = producer ? nodeNameOf(producer->getLoc()) : StringRef();
      if (!name.empty() && !isa<ReadOp, InputOp, ConstantOp>(producer))
        error << "; it comes from the node '" << name
              << "', which can be named";
      return failure();
    }
    InFlightDiagnostic error = emitError(module.getLoc())
                               << hint.describe()
                               << " matches no variable, input or node";
    if (!names.empty())
      error << "; nearest name: " << sbp::nearestName(hint.pattern, names);
    if (!hasNodes)
      error << "; the module names no nodes (oneflow-compile --emit-locations "
               "writes their names)";
    return failure();
  }
  for (const Target &target : targets)
    if (failed(pinHint(target, hint, hint.describe())))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// What ops and variables carry
//===----------------------------------------------------------------------===//

LogicalResult SbpPins::pinBySignatures() {
  SymbolTableCollection symbols;
  WalkResult result = module.walk([&](SpreadOpInterface op) {
    SignatureAttr signature = op.getSignatureAttr();
    FailureOr<PlacementOp> placement = requirePlacement(op);
    if (failed(placement) || (signature && failed(verifySignature(op))))
      return WalkResult::interrupt();
    if (FlatSymbolRefAttr symbol = variableOf(op)) {
      auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(op, symbol);
      if (!variable) {
        op->emitOpError("expected the symbol of a variable, got: ") << symbol;
        return WalkResult::interrupt();
      }
      if (variable.getPlacementAttr() != op.getPlacementAttr()) {
        op->emitOpError("expected the variable's placement ")
            << variable.getPlacementAttr()
            << ", got: " << op.getPlacementAttr();
        return WalkResult::interrupt();
      }
      if (!signature || isa<GradientOp>(op.getOperation()))
        return WalkResult::advance();
      for (auto [axis, sbp] : llvm::enumerate(onlyState(signature)))
        if (failed(pin(ownTarget(variable), *placement, axis,
                       {sbp, "the signature of a use"}, op)))
          return WalkResult::interrupt();
      return WalkResult::advance();
    }
    // Only to see contradictions: what an op carries is all that it may have.
    if (!signature || !pins.count(op))
      return WalkResult::advance();
    for (auto [kind, carried] :
         {std::make_pair(Target::Kind::Operand, signature.getOperands()),
          std::make_pair(Target::Kind::Result, signature.getResults())})
      for (auto [index, whole] : llvm::enumerate(carried)) {
        Target target = {op, kind, static_cast<unsigned>(index)};
        FailureOr<PlacementOp> where = placementOf(target);
        if (failed(where))
          return WalkResult::interrupt();
        for (auto [axis, sbp] : llvm::enumerate(whole.getAxes()))
          if (axis < stateOf(target).size() && stateOf(target)[axis] &&
              failed(pin(target, *where, axis, {sbp, "its signature"})))
            return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Fails where `variable` is like none that exists, or like itself by way of
/// others.
static LogicalResult checkLikeness(VariableOp variable) {
  llvm::SmallPtrSet<Operation *, 4> seen;
  VariableOp at = variable;
  while (FlatSymbolRefAttr symbol = at.getLikeAttr()) {
    if (!seen.insert(at).second)
      return variable.emitOpError("is like itself, by way of ") << symbol;
    auto next = SymbolTable::lookupNearestSymbolFrom<VariableOp>(at, symbol);
    if (!next)
      return at.emitOpError("expected the symbol of a variable after 'like', "
                            "got: ")
             << symbol;
    at = next;
  }
  return success();
}

LogicalResult SbpPins::checkLikenesses() {
  for (VariableOp variable : module.getOps<VariableOp>())
    if (failed(checkLikeness(variable)))
      return failure();
  return success();
}

/// Along time inputs are split by their first dimension where that counts the
/// batch: where its extent is a multiple of the first input's. What lies
/// between the samples stays together.
LogicalResult SbpPins::defaultTime(func::FuncOp function) {
  std::optional<int64_t> batch;
  for (auto input : function.getOps<InputOp>()) {
    Target target = ownTarget(input);
    FailureOr<PlacementOp> placement = placementOf(target);
    if (failed(placement) || failed(requireStaticShapes(input)))
      return failure();
    if (!placement->hasTimeAxis() || input.getSignatureAttr())
      continue;
    sbp::Mesh mesh = placement->getMesh();
    StatePins &state = stateOf(target);
    state.resize(mesh.size());
    sbp::Shape shape = shapeOf(target);
    if (!batch && !shape.empty())
      batch = shape.front();
    if (state[0])
      continue;
    bool counts = !shape.empty() && *batch > 0 && shape.front() >= *batch &&
                  shape.front() % *batch == 0;
    if (!counts) {
      state[0] = {sbp::Sbp::broadcast(),
                  "default: this input does not count the batch"};
      continue;
    }
    int64_t block = *batch % mesh.front() == 0 ? 1 : shape.front() / *batch;
    if (*batch < mesh.front())
      return input.emitOpError("along 'time': expected at least as many "
                               "samples as micro-batches, got: ")
             << *batch << " samples in " << mesh.front() << " micro-batches";
    state[0] = {sbp::Sbp::split(0, block),
                "default: inputs are split along time"};
  }
  return success();
}

LogicalResult SbpPins::defaultInputs() {
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(defaultTime(function)))
      return failure();
  WalkResult result = module.walk([&](InputOp input) {
    if (input.getSignatureAttr())
      return WalkResult::advance();
    Target target = ownTarget(input);
    FailureOr<PlacementOp> placement = placementOf(target);
    if (failed(placement) || failed(requireStaticShapes(input)))
      return WalkResult::interrupt();
    sbp::Mesh mesh = placement->getMesh();
    int64_t axis = placement->findAxis("dp");
    StatePins &state = stateOf(target);
    state.resize(mesh.size());
    // An axis of one rank splits nothing; boxing along it would only be in the
    // way.
    if (axis < 0 || mesh[axis] == 1 || state[axis])
      return WalkResult::advance();
    state[axis] = {sbp::Sbp::split(0), "default: inputs are split along dp"};
    sbp::NdSbp split;
    for (const std::optional<SbpPin> &pin : state)
      split.push_back(pin ? pin->sbp : sbp::Sbp::broadcast());
    if (auto reason = sbp::checkLegal(split, shapeOf(target), mesh)) {
      // A scalar is no batch.
      if (!shapeOf(target).empty())
        input.emitWarning(
            "cannot be split along 'dp', so that every rank of it "
            "computes on the whole input: ")
            << *reason;
      state[axis] = {sbp::Sbp::broadcast(),
                     "default: this input cannot be split along dp"};
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
