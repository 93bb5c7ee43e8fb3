//===- Emit.cpp - llvm-dialect functions to an ELF ------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "oneflow/Target/Cpu.h"

#include "Library.h"
#include "Link.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <set>

using namespace mlir;

namespace oneflow {
namespace {

constexpr llvm::StringLiteral kTriple = "x86_64-unknown-linux-gnu";

/// LLVM's names of the features that generated code may use, and Linux's.
constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kFeatures[] = {
    {"sse3", "pni"},
    {"ssse3", "ssse3"},
    {"sse4.1", "sse4_1"},
    {"sse4.2", "sse4_2"},
    {"popcnt", "popcnt"},
    {"cx16", "cx16"},
    {"movbe", "movbe"},
    {"lzcnt", "abm"},
    {"avx", "avx"},
    {"f16c", "f16c"},
    {"fma", "fma"},
    {"avx2", "avx2"},
    {"bmi", "bmi1"},
    {"bmi2", "bmi2"},
    {"adx", "adx"},
    {"gfni", "gfni"},
    {"vaes", "vaes"},
    {"vpclmulqdq", "vpclmulqdq"},
    {"avxvnni", "avx_vnni"},
    {"avx512f", "avx512f"},
    {"avx512cd", "avx512cd"},
    {"avx512dq", "avx512dq"},
    {"avx512bw", "avx512bw"},
    {"avx512vl", "avx512vl"},
    {"avx512ifma", "avx512ifma"},
    {"avx512vbmi", "avx512vbmi"},
    {"avx512vbmi2", "avx512_vbmi2"},
    {"avx512vnni", "avx512_vnni"},
    {"avx512bitalg", "avx512_bitalg"},
    {"avx512vpopcntdq", "avx512_vpopcntdq"},
    {"avx512bf16", "avx512_bf16"},
    {"avx512fp16", "avx512_fp16"},
};

std::unique_ptr<llvm::TargetMachine> makeMachine(const CpuTarget &target,
                                                 std::string &error) {
  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple(kTriple);
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.FunctionSections = true; // so that the linker drops what is not used
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, target.cpu, llvm::join(target.features, ","), options,
      llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Aggressive));
}

/// All functions are compiled for one target, or they could not be inlined.
void setTarget(llvm::Module &module, llvm::TargetMachine &machine,
               const CpuTarget &target) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.removeFnAttr("tune-cpu");
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", llvm::join(target.features, ","));
    function.addFnAttr("prefer-vector-width",
                       std::to_string(target.vectorBytes() * 8));
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.removeFnAttr(llvm::Attribute::UWTable);
  }
}

llvm::SmallVector<char, 0> compile(llvm::Module &module,
                                   llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return {};
  passes.run(module);
  return object;
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

} // namespace

void registerCpuTranslation(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

FailureOr<CpuObject> emitCpuObject(ModuleOp module, const CpuTarget &target,
                                   llvm::ArrayRef<std::string> exports) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(target, error);
  if (!machine)
    return module.emitError("cannot generate code for ")
           << target.cpu << ": " << error;

  // Only what is ours to compile; the module may hold any other op.
  OwningOpRef<ModuleOp> code = ModuleOp::create(module.getLoc());
  OpBuilder builder(code->getBodyRegion());
  for (Operation &op : *module.getBody())
    if (isa<LLVM::LLVMFuncOp, LLVM::GlobalOp>(op))
      builder.clone(op);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir =
      translateModuleToLLVMIR(*code, context, "oneflow");
  if (!ir)
    return module.emitError("cannot translate the module to LLVM IR");

  auto readLibrary = [&](llvm::StringRef bitcode, llvm::StringRef name) {
    return llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, name),
                                  context);
  };
  ir->setTargetTriple(machine->getTargetTriple());
  ir->setDataLayout(machine->createDataLayout());
  auto math = readLibrary(cpu::mathBitcode(), "math");
  auto memory = readLibrary(cpu::memoryBitcode(), "memory");
  if (!math || !memory) {
    llvm::consumeError(math.takeError());
    llvm::consumeError(memory.takeError());
    return module.emitError("the built-in math library cannot be read");
  }
  (*math)->setTargetTriple(machine->getTargetTriple());
  (*math)->setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : **math) {
    function.removeFnAttr("target-features");
    function.removeFnAttr("target-cpu");
  }
  if (llvm::Linker::linkModules(*ir, std::move(*math),
                                llvm::Linker::Flags::LinkOnlyNeeded))
    return module.emitError("cannot link the built-in math library");
  std::set<std::string> exported(exports.begin(), exports.end());
  for (llvm::GlobalValue &value : ir->global_values()) {
    if (value.isDeclaration())
      continue;
    if (exported.count(value.getName().str())) {
      value.setVisibility(llvm::GlobalValue::ProtectedVisibility);
      exported.erase(value.getName().str());
    } else {
      value.setVisibility(llvm::GlobalValue::DefaultVisibility);
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
    value.setDSOLocal(true);
  }
  if (!exported.empty())
    return module.emitError("cannot export @")
           << *exported.begin() << ": it is not defined";
  for (const llvm::Function &function : *ir)
    if (function.isDeclaration() && !function.isIntrinsic() &&
        !function.use_empty())
      return module.emitError("@")
             << function.getName() << " is called and not defined";
  setTarget(*ir, *machine, target);
  setTarget(**memory, *machine, target);
  for (llvm::Function &function : **memory)
    function.setVisibility(llvm::GlobalValue::HiddenVisibility);

  optimize(*ir, *machine);
  CpuObject result;
  llvm::SmallVector<llvm::SmallVector<char, 0>> objects;
  objects.push_back(compile(*ir, *machine));
  objects.push_back(compile(**memory, *machine));
  auto elf = cpu::linkShared(objects);
  if (!elf)
    return module.emitError() << llvm::toString(elf.takeError());
  result.elf = std::move(*elf);
  for (auto [name, linux] : kFeatures)
    if (machine->getMCSubtargetInfo()->checkFeatures("+" + name.str()))
      result.cpuFeatures.push_back(linux.str());
  return result;
}

} // namespace oneflow
