//===- OpGradients.cpp - all gradients in one training step ---------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mode `gradients` of op-cases: see OpCases.cpp.
//
//===----------------------------------------------------------------------===//

#include "OpCases.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;

namespace {

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
    mesh = addPlacement(module, loc, {"dp"}, {ranks});
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
        storageOf(tensor, ranks, body.getContext()), /*part=*/nullptr);
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

} // namespace

void makeGradients(ModuleOp samples, ModuleOp cases, int64_t ranks) {
  GradientBuilder builder(cases, ranks);
  for (auto sample : samples.getOps<func::FuncOp>())
    if (isDifferentiable(findSampled(sample)))
      builder.add(sample);
  builder.finish();
}
