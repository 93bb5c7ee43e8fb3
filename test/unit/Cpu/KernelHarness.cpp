//===- KernelHarness.cpp - runs kernels given as text ---------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include "oneflow/Conversion/KernelToCpu.h"
#include "oneflow/Target/Cpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace oneflow::test {

constexpr unsigned char kGuardByte = 0xa5;

/// Bytes between the end and the next aligned address, where the page ends.
static size_t slack(size_t bytes) {
  return (bytes + ONEFLOW_BUFFER_ALIGNMENT - 1) / ONEFLOW_BUFFER_ALIGNMENT *
             ONEFLOW_BUFFER_ALIGNMENT -
         bytes;
}

Buffer::Buffer(size_t bytes) : bytes(bytes) {
  size_t page = sysconf(_SC_PAGESIZE), used = bytes + slack(bytes);
  size_t size = (used + page - 1) / page * page + page;
  auto *base = static_cast<char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(base + size - page, page, PROT_NONE);
  memset(base, kGuardByte, size - page);
  memory = std::shared_ptr<void>(base + size - page - used,
                                 [=](void *) { munmap(base, size); });
}

bool Buffer::intact() const {
  const auto *end = static_cast<const unsigned char *>(data()) + bytes;
  for (size_t i = 0; i < slack(bytes); ++i)
    if (end[i] != kGuardByte)
      return false;
  return true;
}

[[noreturn]] static void die(const std::string &message) {
  llvm::errs() << message << "\n";
  abort();
}

Kernels::Kernels(const std::string &module, bool generic) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                  mlir::func::FuncDialect, mlir::LLVM::LLVMDialect,
                  mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
  registerCpuTranslation(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(module, &context);
  if (!parsed)
    die("cannot parse:\n" + module);
  CpuTarget target = generic ? CpuTarget::generic() : CpuTarget::host();
  mlir::PassManager passes(&context);
  passes.addPass(
      createLowerKernelsPass({target.vectorBytes(), target.vectorRegisters()}));
  if (failed(passes.run(*parsed)))
    die("cannot lower:\n" + module);
  std::vector<std::string> exports;
  for (auto function : parsed->getOps<mlir::LLVM::LLVMFuncOp>()) {
    if (function.isExternal())
      continue;
    exports.push_back(function.getName().str());
    KernelInfo &kernel = info[exports.back()];
    if (auto bytes =
            function->getAttrOfType<mlir::IntegerAttr>("oneflow.workspace"))
      kernel.workspace = bytes.getInt();
    if (auto pairs =
            function->getAttrOfType<mlir::ArrayAttr>("oneflow.may_share"))
      for (auto pair : pairs.getAsRange<mlir::DenseI64ArrayAttr>())
        kernel.mayShare.push_back({pair[0], pair[1]});
  }
  if (getenv("ONEFLOW_TEST_PRINT"))
    parsed->print(llvm::errs());
  auto object = emitCpuObject(*parsed, target, exports);
  if (failed(object))
    die("cannot emit:\n" + module);
  features = object->cpuFeatures;
  elf.assign(object->elf.begin(), object->elf.end());
  llvm::SmallString<128> path;
  int fd;
  if (llvm::sys::fs::createTemporaryFile("kernels", "so", fd, path))
    die("cannot make a temporary file");
  llvm::raw_fd_ostream(fd, true).write(elf.data(), elf.size());
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!getenv("ONEFLOW_TEST_KEEP"))
    unlink(path.c_str());
  else
    llvm::errs() << path << "\n";
  if (!library)
    die(dlerror());
}

Kernels::~Kernels() { dlclose(library); }

OfKernelFn Kernels::function(const std::string &name) {
  return reinterpret_cast<OfKernelFn>(dlsym(library, name.c_str()));
}

int64_t Kernels::items(const std::string &name,
                       const std::vector<int64_t> &scalars) {
  auto count = reinterpret_cast<int64_t (*)(const int64_t *)>(
      dlsym(library, (name + ".items").c_str()));
  return count(scalars.data());
}

int32_t Kernels::run(const std::string &name,
                     const std::vector<Buffer> &buffers,
                     const std::vector<int64_t> &scalars, int64_t step) {
  std::vector<void *> pointers;
  for (const Buffer &buffer : buffers)
    pointers.push_back(buffer.data());
  Buffer workspace(info[name].workspace);
  if (info[name].workspace)
    pointers.push_back(workspace.data());
  int64_t count = items(name, scalars);
  if (step == 0)
    step = count ? count : 1;
  int32_t status = 0;
  // The last items first: an order must not matter.
  for (int64_t end = count; end > 0; end -= step) {
    int32_t code = function(name)(pointers.data(), scalars.data(),
                                  std::max<int64_t>(0, end - step), end);
    status = code ? code : status;
  }
  for (const Buffer &buffer : buffers)
    EXPECT_TRUE(buffer.intact()) << name << " wrote behind a buffer";
  EXPECT_TRUE(workspace.intact()) << name << " wrote behind its workspace";
  return status;
}

std::vector<float> randomF32(size_t count, float low, float high,
                             unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(engine);
  return values;
}

std::vector<double> randomF64(size_t count, double low, double high,
                              unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<double> values(count);
  for (double &value : values)
    value = distribution(engine);
  return values;
}

template <typename T>
static void near(const std::vector<T> &got, const std::vector<T> &expected,
                 double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(got[i]))
      continue;
    if (got[i] == expected[i])
      continue;
    double scale = std::max(1.0, std::abs(static_cast<double>(expected[i])));
    ASSERT_LE(std::abs(static_cast<double>(got[i]) - expected[i]),
              tolerance * scale)
        << "at " << i << ": got " << got[i] << ", expected " << expected[i];
  }
}

void expectNear(const std::vector<float> &got,
                const std::vector<float> &expected, double tolerance) {
  near(got, expected, tolerance);
}
void expectNear(const std::vector<double> &got,
                const std::vector<double> &expected, double tolerance) {
  near(got, expected, tolerance);
}

} // namespace oneflow::test
