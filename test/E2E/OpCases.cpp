//===- OpCases.cpp - every signature and gradient of every op -------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes test modules from a module of samples, each a function with one op
// between inputs and outputs. Fails when an op of the dialect that computes has
// no sample, so that a new op cannot be forgotten.
//
//   op-cases SAMPLES forward MESH [PART/PARTS]
//     One function per sample and legal signature of its op on the mesh, pinned
//     on the op; "// NAME: SIGNATURE" lines say which is which. Of the samples
//     only every PARTS-th from PART on, which counts from 1.
//   op-cases SAMPLES backward MESH [PART/PARTS]
//     The same with the op's gradient behind it: inputs "dresult<i>" are the
//     gradients of the results, outputs "dx<i>" those of the operands.
//   op-cases SAMPLES gradients RANKS
//     One function @main with all differentiable samples, their float inputs
//     made variables.
//
// A mesh is written 2x3; on that of one rank, 1, every sample is itself the one
// case, of the same name.
//
//===----------------------------------------------------------------------===//

#include "OpCases.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace oneflow;

bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

bool isDifferentiable(Operation *op) {
  return isa<GradientOpInterface>(op) &&
         llvm::any_of(op->getOperands(), isFloat) &&
         llvm::any_of(op->getResults(), isFloat);
}

/// Whether ops of this name compute: they have an SBP rule, and are not what
/// holds the graph together.
static bool computes(RegisteredOperationName name) {
  const TypeID structural[] = {
      TypeID::get<InputOp>(),    TypeID::get<OutputOp>(),
      TypeID::get<ReadOp>(),     TypeID::get<UpdateOp>(),
      TypeID::get<VariableOp>(), TypeID::get<oneflow::GradientOp>(),
      TypeID::get<BoxingOp>()};
  return name.hasInterface<SpreadOpInterface>() &&
         !llvm::is_contained(structural, name.getTypeID());
}

SpreadOpInterface findSampled(func::FuncOp sample) {
  SpreadOpInterface found;
  bool unique = true;
  sample.walk([&](SpreadOpInterface op) {
    if (!computes(*op->getRegisteredInfo()))
      return;
    unique &= !found;
    found = op;
  });
  return unique ? found : SpreadOpInterface();
}

FlatSymbolRefAttr addPlacement(OpBuilder &builder, Location loc,
                               ArrayRef<StringRef> axes,
                               ArrayRef<int64_t> sizes) {
  auto placement = PlacementOp::create(
      builder, loc, builder.getStringAttr("mesh"),
      DeviceAttr::get(builder.getContext(), Device::Cpu),
      builder.getStrArrayAttr(axes), builder.getDenseI64ArrayAttr(sizes),
      builder.getI64IntegerAttr(0));
  return FlatSymbolRefAttr::get(placement);
}

namespace {

int fail(const llvm::Twine &message) {
  llvm::errs() << "op-cases: error: " << message << "\n";
  return 1;
}

/// Ops of the dialect that compute and that no sample has.
std::vector<std::string> findUnsampled(ModuleOp samples) {
  llvm::StringSet<> sampled;
  samples.walk([&](SpreadOpInterface op) {
    sampled.insert(op->getName().getStringRef());
  });
  std::vector<std::string> missing;
  for (RegisteredOperationName name :
       samples.getContext()->getRegisteredOperations())
    if (computes(name) && !sampled.count(name.getStringRef()))
      missing.push_back(name.getStringRef().str());
  return missing;
}

SignatureAttr signatureOf(MLIRContext *context,
                          const std::vector<sbp::NdSbp> &operands,
                          const std::vector<sbp::NdSbp> &results) {
  return SignatureAttr::get(context, sbp::NdSignature{operands, results});
}

std::vector<sbp::NdSignature> allSignatures(SpreadOpInterface op,
                                            const sbp::Mesh &mesh) {
  std::vector<sbp::Shape> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(shapeOf(operand));
  for (Value result : op->getResults())
    results.push_back(shapeOf(result));
  return sbp::enumerateNdSignatures(op.getSbpRule(), operands, results, mesh);
}

/// Makes test cases of samples for one mesh.
class CaseMaker {
public:
  CaseMaker(ModuleOp cases, sbp::Mesh mesh, bool backward)
      : b(OpBuilder::atBlockEnd(cases.getBody())), mesh(std::move(mesh)),
        backward(backward) {
    static constexpr StringRef names[] = {"x", "y", "z", "w"};
    placement =
        addPlacement(b, cases.getLoc(),
                     ArrayRef(names).take_front(this->mesh.size()), this->mesh);
  }

  LogicalResult add(func::FuncOp sample) {
    if (sbp::rankCount(mesh) == 1) {
      auto function = cast<func::FuncOp>(b.clone(*sample));
      return backward ? differentiate(findSampled(function)) : success();
    }
    SpreadOpInterface op = findSampled(sample);
    int number = 0;
    for (const sbp::NdSignature &signature : allSignatures(op, mesh)) {
      auto function = cast<func::FuncOp>(b.clone(*sample));
      std::string name =
          sample.getName().str() + "." + std::to_string(number++);
      function.setName(name);
      llvm::outs() << "// " << name << ": " << sbp::toString(signature) << "\n";
      SpreadOpInterface pinned = findSampled(function);
      pinned.setPlacementAttr(placement);
      pinned.setSignatureAttr(SignatureAttr::get(b.getContext(), signature));
      for (auto [operand, state] :
           llvm::zip(pinned->getOpOperands(), signature.operands))
        makePartial(operand, state);
      if (backward && failed(differentiate(pinned)))
        return failure();
    }
    return success();
  }

private:
  void makePartial(OpOperand &operand, const sbp::NdSbp &state);
  LogicalResult differentiate(Operation *op);

  OpBuilder b;
  sbp::Mesh mesh;
  bool backward;
  FlatSymbolRefAttr placement;
};

/// Where `state` has partial axes, feeds the operand parts that differ: the
/// input gets a leading dimension of one tensor per rank along those axes, and
/// each rank reduces its own. The new input is named "<name> <reducer>".
void CaseMaker::makePartial(OpOperand &operand, const sbp::NdSbp &state) {
  static constexpr ReduceKind kinds[] = {ReduceKind::Sum, ReduceKind::Max,
                                         ReduceKind::Min, ReduceKind::Prod};
  auto partial = llvm::find_if(
      state, [](const sbp::Sbp &axis) { return axis.isPartial(); });
  if (partial == state.end())
    return;
  int64_t parts = 1;
  sbp::NdSbp spread;
  for (auto [axis, size] : llvm::zip(state, mesh)) {
    if (axis.isPartial()) {
      parts *= size;
      spread.push_back(sbp::Sbp::split(0));
    } else {
      spread.push_back(axis);
      if (axis.isSplit())
        ++spread.back().dim;
    }
  }
  auto input = operand.get().getDefiningOp<InputOp>();
  OpBuilder builder(operand.getOwner());
  MLIRContext *context = builder.getContext();
  Location loc = input.getLoc();
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), parts);
  std::string name = input.getName().str() + " " +
                     std::string(sbp::toString(partial->reducer));
  Value values = InputOp::create(builder, loc, type.clone(shape),
                                 builder.getStringAttr(name), placement,
                                 signatureOf(context, {}, {spread}));
  operand.set(ReduceOp::create(
      builder, loc, type, values,
      kinds[static_cast<unsigned>(partial->reducer)], ArrayRef<int64_t>{0},
      /*keep_dims=*/false, placement, signatureOf(context, {spread}, {state})));
  if (input->use_empty())
    input.erase();
}

/// Builds the gradient of the sampled op at its function's end.
LogicalResult CaseMaker::differentiate(Operation *op) {
  if (!isDifferentiable(op))
    return success();
  OpBuilder builder(op->getBlock()->getTerminator());
  Location loc = op->getLoc();
  SmallVector<Value> resultGradients, operandGradients;
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    resultGradients.push_back(
        isFloat(result)
            ? InputOp::create(
                  builder, loc, result.getType(),
                  builder.getStringAttr("dresult" + std::to_string(index)),
                  nullptr, nullptr)
                  .getResult()
            : Value());
  if (failed(cast<GradientOpInterface>(op).buildGradient(
          builder, resultGradients, operandGradients)))
    return failure();
  for (auto [index, gradient] : llvm::enumerate(operandGradients))
    if (gradient)
      OutputOp::create(builder, loc,
                       builder.getStringAttr("dx" + std::to_string(index)),
                       gradient, nullptr, nullptr);
  return success();
}

/// "2x3", each at least 1; empty where it is not that.
sbp::Mesh parseMesh(StringRef text) {
  sbp::Mesh mesh;
  SmallVector<StringRef> sizes;
  text.split(sizes, 'x');
  for (StringRef size : sizes)
    if (size.getAsInteger(10, mesh.emplace_back()) || mesh.back() < 1)
      return {};
  return mesh.size() <= 4 ? mesh : sbp::Mesh();
}

} // namespace

int main(int argc, char **argv) {
  StringRef mode = argc >= 4 ? argv[2] : "";
  sbp::Mesh mesh = argc >= 4 ? parseMesh(argv[3]) : sbp::Mesh();
  bool known = mode == "forward" || mode == "backward" ||
               (mode == "gradients" && argc == 4 && mesh.size() == 1);
  auto [partText, partsText] =
      StringRef(argc == 5 ? argv[4] : "1/1").split('/');
  unsigned part = 0, parts = 0;
  if (!known || mesh.empty() || argc > 5 || partText.getAsInteger(10, part) ||
      partsText.getAsInteger(10, parts) || part < 1 || part > parts) {
    llvm::errs() << "usage: op-cases SAMPLES forward|backward MESH "
                    "[PART/PARTS] | op-cases SAMPLES gradients RANKS\n";
    return 2;
  }
  MLIRContext context;
  context.loadDialect<OneFlowDialect, func::FuncDialect>();
  auto samples = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!samples)
    return 1;
  for (auto sample : samples->getOps<func::FuncOp>())
    if (!findSampled(sample))
      return fail("expected one op that computes in @" + sample.getName());
  for (const std::string &name : findUnsampled(*samples))
    return fail("expected a sample of every op that computes, found none of " +
                name);

  OwningOpRef<ModuleOp> cases = ModuleOp::create(UnknownLoc::get(&context));
  if (mode == "gradients") {
    makeGradients(*samples, *cases, mesh[0]);
  } else {
    CaseMaker maker(*cases, mesh, mode == "backward");
    for (auto [index, sample] :
         llvm::enumerate(samples->getOps<func::FuncOp>()))
      if (index % parts == part - 1 && failed(maker.add(sample)))
        return 1;
  }
  if (failed(verify(*cases)))
    return 1;
  cases->print(llvm::outs());
  llvm::outs() << "\n";
  return 0;
}
