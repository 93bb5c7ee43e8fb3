//===- ImportTest.cpp - imports a model and prints it ---------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: import-test MODEL [--dim NAME=EXTENT]... [--locations] [--strip OUT]
//                    [--retrain OUT]
//        import-test MODEL... --survive COUNT
//
// Prints the module, or the errors and exits with 1. --strip also writes the
// model without its weights, --retrain writes that model with every weight
// replaced by zeros. --survive imports each model and COUNT copies of each with
// damaged bytes, and prints how many were taken; that it ends is the test.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Import/Onnx.h"
#ifdef ONEFLOW_HAS_TENSORIO
#include "oneflow/TensorIO/Onnx.h"
#endif

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <random>

using llvm::StringRef;

namespace {

struct Arguments {
  std::vector<std::string> models;
  std::string strip, retrain;
  oneflow::OnnxImportOptions options;
  unsigned mutations = 0;
  bool locations = false, survive = false;
};

/// A copy with a few bytes changed, removed or repeated.
std::string mutate(StringRef bytes, std::mt19937 &random) {
  auto below = [&](size_t bound) { return random() % bound; };
  std::string mutated = bytes.str();
  for (size_t change = 0, count = 1 + below(4); change < count; ++change) {
    size_t at = below(mutated.size());
    switch (below(4)) {
    case 0:
      mutated[at] = static_cast<char>(random());
      break;
    case 1:
      mutated[at] ^= 1 << below(8);
      break;
    case 2:
      mutated.erase(at, std::min<size_t>(1 + below(8), mutated.size() - 1));
      break;
    default:
      mutated.insert(at, mutated.substr(at, 1 + below(16)));
    }
  }
  return mutated;
}

int survive(const Arguments &arguments) {
  std::mt19937 random(7);
  unsigned taken = 0;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &) {});
  for (const std::string &path : arguments.models) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    // Named before it is imported, so that a crash tells which model it was.
    llvm::errs() << path << "\n";
    std::string bytes = (*buffer)->getBuffer().str();
    for (unsigned i = 0; i <= arguments.mutations; ++i) {
      taken += succeeded(
          oneflow::importOnnxBytes(&context, bytes, path, arguments.options));
      bytes = mutate((*buffer)->getBuffer(), random);
    }
  }
  llvm::outs() << taken << "\n";
  return 0;
}

#ifdef ONEFLOW_HAS_TENSORIO
bool retrain(mlir::ModuleOp module, const std::string &stripped,
             const std::string &path) {
  using namespace oneflow::tensorio;
  TensorMap weights;
  for (auto variable : module.getOps<oneflow::VariableOp>()) {
    auto type = mlir::cast<mlir::RankedTensorType>(variable.getType());
    DType dtype = type.getElementType().isF32()         ? DType::F32
                  : type.getElementType().isInteger(64) ? DType::I64
                                                        : DType::F16;
    weights[variable.getSymName().str()] = Tensor::zeros(
        dtype, Shape(type.getShape().begin(), type.getShape().end()));
  }
  auto model =
      writeTrainedModel(Bytes(stripped.begin(), stripped.end()), weights);
  if (!model.ok()) {
    llvm::errs() << model.message() << "\n";
    return false;
  }
  std::error_code error;
  llvm::raw_fd_ostream(path, error)
      .write(reinterpret_cast<const char *>((*model).data()), (*model).size());
  return !error;
}
#else
bool retrain(mlir::ModuleOp, const std::string &, const std::string &) {
  llvm::errs() << "built without TensorIO\n";
  return false;
}
#endif

int run(const Arguments &arguments) {
  const std::string &path = arguments.models.front();
  auto buffer = llvm::MemoryBuffer::getFile(path);
  mlir::MLIRContext context;
  auto module = oneflow::importOnnx(&context, path, arguments.options);
  if (failed(module))
    return 1;
  if (!arguments.strip.empty()) {
    auto model = oneflow::stripWeights((*buffer)->getBuffer(), path, **module);
    if (failed(model))
      return 1;
    std::error_code error;
    llvm::raw_fd_ostream(arguments.strip, error) << *model;
    if (error || (!arguments.retrain.empty() &&
                  !retrain(**module, *model, arguments.retrain)))
      return 1;
  }
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(arguments.locations, /*prettyForm=*/false);
  (*module)->print(llvm::outs(), flags);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    StringRef argument = argv[i];
    const char *next = i + 1 < argc ? argv[i + 1] : "";
    if (argument == "--locations") {
      arguments.locations = true;
      continue;
    }
    if (!argument.starts_with("--")) {
      arguments.models.push_back(argument.str());
      continue;
    }
    ++i;
    if (argument == "--strip")
      arguments.strip = next;
    else if (argument == "--retrain")
      arguments.retrain = next;
    else if (argument == "--survive") {
      arguments.survive = true;
      arguments.mutations = std::atoi(next);
    } else if (argument == "--dim") {
      auto [name, extent] = StringRef(next).rsplit('=');
      arguments.options.dims[name] = std::atoll(extent.str().c_str());
    }
  }
  if (arguments.models.empty())
    return 2;
  return arguments.survive ? survive(arguments) : run(arguments);
}
