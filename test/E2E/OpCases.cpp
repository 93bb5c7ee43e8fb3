//===- OpCases.cpp - every signature and gradient of every op -------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes test modules from a module of samples, each a function with one op
// between inputs and outputs. Fails when an op of the dialect that has a kernel
// has no sample, so that a new op cannot be forgotten.
//
//   op-cases SAMPLES signatures RANKS   one function per sample and signature
//   that the
//                                       op's rule allows on RANKS ranks, pinned
//                                       on the op; "// NAME: SIGNATURE" lines
//                                       say which is which
//   op-cases SAMPLES gradients RANKS    one function @main with all
//   differentiable
//                                       samples, their float inputs made
//                                       variables
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace oneflow;

namespace {

int fail(const llvm::Twine &message) {
  llvm::errs() << "op-cases: error: " << message << "\n";
  return 1;
}

/// The op that a function samples, null where it has not exactly one.
SpreadOpInterface findSampled(func::FuncOp sample) {
  SpreadOpInterface found;
  bool unique = true;
  sample.walk([&](LocalOpInterface op) {
    unique &= !found;
    found = cast<SpreadOpInterface>(op.getOperation());
  });
  return unique ? found : SpreadOpInterface();
}

/// Ops of the dialect with a kernel that no sample has.
std::vector<std::string> findUnsampled(ModuleOp samples) {
  llvm::StringSet<> sampled;
  samples.walk([&](LocalOpInterface op) {
    sampled.insert(op->getName().getStringRef());
  });
  std::vector<std::string> missing;
  for (RegisteredOperationName name :
       samples.getContext()->getRegisteredOperations())
    if (name.hasInterface<LocalOpInterface>() &&
        !sampled.count(name.getStringRef()))
      missing.push_back(name.getStringRef().str());
  return missing;
}

PlacementOp addPlacement(OpBuilder &builder, Location loc, StringRef axis,
                         int64_t ranks) {
  return PlacementOp::create(builder, loc, builder.getStringAttr("mesh"),
                             DeviceAttr::get(builder.getContext(), Device::Cpu),
                             builder.getStrArrayAttr({axis}),
                             builder.getDenseI64ArrayAttr({ranks}),
                             builder.getI64IntegerAttr(0));
}

SignatureAttr signatureOf(MLIRContext *context, ArrayRef<sbp::Sbp> operands,
                          ArrayRef<sbp::Sbp> results) {
  sbp::NdSignature signature;
  for (const sbp::Sbp &state : operands)
    signature.operands.push_back({state});
  for (const sbp::Sbp &state : results)
    signature.results.push_back({state});
  return SignatureAttr::get(context, signature);
}

bool isLegal(const sbp::Signature &signature, Operation *op, int64_t ranks) {
  for (auto [state, value] : llvm::zip(signature.operands, op->getOperands()))
    if (sbp::checkLegal({state}, shapeOf(value), {ranks}))
      return false;
  for (auto [state, value] : llvm::zip(signature.results, op->getResults()))
    if (sbp::checkLegal({state}, shapeOf(value), {ranks}))
      return false;
  return true;
}

/// Feeds operand `number` a partial value whose parts differ: the input gets a
/// leading dimension of one tensor per rank, and each rank reduces its own. The
/// new input is named "<name> <reducer>".
void makePartial(OpOperand &operand, sbp::Reducer reducer,
                 FlatSymbolRefAttr mesh, int64_t ranks) {
  static constexpr ReduceKind kinds[] = {ReduceKind::Sum, ReduceKind::Max,
                                         ReduceKind::Min, ReduceKind::Prod};
  auto input = operand.get().getDefiningOp<InputOp>();
  OpBuilder b(operand.getOwner());
  MLIRContext *context = b.getContext();
  Location loc = input.getLoc();
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), ranks);
  std::string name =
      input.getName().str() + " " + std::string(sbp::toString(reducer));
  Value parts =
      InputOp::create(b, loc, type.clone(shape), b.getStringAttr(name), mesh,
                      signatureOf(context, {}, sbp::Sbp::split(0)));
  operand.set(ReduceOp::create(
      b, loc, type, parts, kinds[static_cast<unsigned>(reducer)],
      ArrayRef<int64_t>{0}, /*keep_dims=*/false, mesh,
      signatureOf(context, sbp::Sbp::split(0), sbp::Sbp::partial(reducer))));
  if (input->use_empty())
    input.erase();
}

int makeSignatures(ModuleOp samples, ModuleOp cases, int64_t ranks) {
  OpBuilder b = OpBuilder::atBlockEnd(cases.getBody());
  auto mesh =
      FlatSymbolRefAttr::get(addPlacement(b, cases.getLoc(), "x", ranks));
  for (auto sample : samples.getOps<func::FuncOp>()) {
    SpreadOpInterface op = findSampled(sample);
    int number = 0;
    for (const sbp::Signature &signature :
         sbp::enumerateSignatures(op.getSbpRule())) {
      if (!isLegal(signature, op, ranks))
        continue;
      auto function = cast<func::FuncOp>(b.clone(*sample));
      std::string name =
          sample.getName().str() + "." + std::to_string(number++);
      function.setName(name);
      llvm::outs() << "// " << name << ": " << sbp::toString(signature) << "\n";
      SpreadOpInterface pinned = findSampled(function);
      pinned.setPlacementAttr(mesh);
      pinned.setSignatureAttr(
          signatureOf(b.getContext(), signature.operands, signature.results));
      for (auto [operand, state] :
           llvm::zip(pinned->getOpOperands(), signature.operands))
        if (state.isPartial())
          makePartial(operand, state.reducer, mesh, ranks);
    }
  }
  return 0;
}

/// How a variable is stored so that gradients of both split and whole ones are
/// had: the last dimension that can be split is.
NdSbpAttr storageOf(RankedTensorType type, int64_t ranks,
                    MLIRContext *context) {
  sbp::Shape shape(type.getShape().begin(), type.getShape().end());
  sbp::Sbp storage = sbp::Sbp::broadcast();
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (shape[dim] > 1 &&
        !sbp::checkLegal({sbp::Sbp::split(dim)}, shape, {ranks}))
      storage = sbp::Sbp::split(dim);
  return NdSbpAttr::get(context, sbp::NdSbp{storage});
}

/// Collects samples into one function: each gives the output of its name, the
/// sum of its results times the inputs "<sample> weight<i>"; "total" adds them
/// all up.
class GradientBuilder {
public:
  GradientBuilder(ModuleOp cases, int64_t ranks)
      : module(OpBuilder::atBlockEnd(cases.getBody())),
        body(cases.getContext()), loc(cases.getLoc()), ranks(ranks) {
    mesh = FlatSymbolRefAttr::get(addPlacement(module, loc, "dp", ranks));
    auto function = func::FuncOp::create(module, loc, "main",
                                         module.getFunctionType({}, {}));
    body.setInsertionPointToStart(function.addEntryBlock());
    module.setInsertionPoint(function);
    type = RankedTensorType::get({}, body.getF64Type());
  }

  void add(func::FuncOp sample) {
    IRMapping values;
    Value sum;
    for (Operation &op : sample.getBody().front()) {
      if (auto input = dyn_cast<InputOp>(op)) {
        values.map(input.getResult(), replaceInput(input, sample.getName()));
      } else if (auto output = dyn_cast<OutputOp>(op)) {
        if (isa<FloatType>(getElementTypeOrSelf(output.getValue())))
          sum = plus(sum, weigh(values.lookup(output.getValue()),
                                sample.getName().str() + " weight" +
                                    std::to_string(weights++)));
      } else if (!isa<func::ReturnOp>(op)) {
        body.clone(op, values);
      }
    }
    OutputOp::create(body, loc, sample.getNameAttr(), sum, nullptr, nullptr);
    total = plus(total, sum);
  }

  void finish() {
    OutputOp::create(body, loc, body.getStringAttr("total"), total, nullptr,
                     nullptr);
    func::ReturnOp::create(body, loc);
  }

private:
  Value replaceInput(InputOp input, StringRef sample) {
    std::string name = (sample + " " + input.getName()).str();
    auto tensor = cast<RankedTensorType>(input.getType());
    if (!isa<FloatType>(tensor.getElementType()))
      return InputOp::create(body, loc, tensor, body.getStringAttr(name),
                             nullptr, nullptr);
    VariableOp::create(
        module, loc, module.getStringAttr(name), TypeAttr::get(tensor),
        /*initial=*/nullptr, module.getUnitAttr(), /*like=*/nullptr, mesh,
        storageOf(tensor, ranks, body.getContext()));
    return ReadOp::create(body, loc, tensor, name, nullptr, nullptr);
  }

  Value weigh(Value result, const std::string &name) {
    auto tensor =
        cast<RankedTensorType>(result.getType()).clone(body.getF64Type());
    if (result.getType() != tensor)
      result = CastOp::create(body, loc, tensor, result, nullptr, nullptr);
    Value weight = InputOp::create(body, loc, tensor, body.getStringAttr(name),
                                   nullptr, nullptr);
    Value product = MulOp::create(body, loc, result, weight, nullptr, nullptr);
    if (tensor.getRank() == 0)
      return product;
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, tensor.getRank()));
    return ReduceOp::create(body, loc, product, ReduceKind::Sum, dims,
                            /*keep_dims=*/false, nullptr, nullptr);
  }

  Value plus(Value sum, Value value) {
    if (!sum)
      return value;
    return AddOp::create(body, loc, sum, value, nullptr, nullptr);
  }

  OpBuilder module, body;
  Location loc;
  int64_t ranks;
  FlatSymbolRefAttr mesh;
  RankedTensorType type;
  Value total;
  int weights = 0;
};

int makeGradients(ModuleOp samples, ModuleOp cases, int64_t ranks) {
  GradientBuilder builder(cases, ranks);
  auto isFloat = [](Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value.getType()));
  };
  for (auto sample : samples.getOps<func::FuncOp>()) {
    Operation *op = findSampled(sample);
    if (isa<GradientOpInterface>(op) &&
        llvm::any_of(op->getOperands(), isFloat) &&
        llvm::any_of(op->getResults(), isFloat))
      builder.add(sample);
  }
  builder.finish();
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  StringRef mode = argc == 4 ? argv[2] : "";
  int64_t ranks = 0;
  if ((mode != "signatures" && mode != "gradients") ||
      StringRef(argv[3]).getAsInteger(10, ranks) || ranks < 1) {
    llvm::errs() << "usage: op-cases SAMPLES signatures|gradients RANKS\n";
    return 2;
  }
  MLIRContext context;
  context.loadDialect<OneFlowDialect, func::FuncDialect>();
  auto samples = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!samples)
    return 1;
  for (auto sample : samples->getOps<func::FuncOp>())
    if (!findSampled(sample))
      return fail("expected one op with a kernel in @" + sample.getName());
  for (const std::string &name : findUnsampled(*samples))
    return fail("expected a sample of every op with a kernel, found none of " +
                name);

  OwningOpRef<ModuleOp> cases = ModuleOp::create(UnknownLoc::get(&context));
  int status = mode == "signatures" ? makeSignatures(*samples, *cases, ranks)
                                    : makeGradients(*samples, *cases, ranks);
  if (status != 0 || failed(verify(*cases)))
    return 1;
  cases->print(llvm::outs());
  llvm::outs() << "\n";
  return 0;
}
