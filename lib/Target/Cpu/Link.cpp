//===- Link.cpp - objects to a shared object ------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// lld as a library, not as a program: a compiler that is installed as a Python
// package or a single binary then has no second program to find. Its static
// archives take LLVM itself from libLLVM.so, like the rest of us. lld keeps
// state between runs, so links take turns.
//
//===----------------------------------------------------------------------===//

#include "Link.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

LLD_HAS_DRIVER(elf)

namespace oneflow::cpu {

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Expected<llvm::SmallVector<char, 0>>
linkShared(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects) {
  std::vector<std::unique_ptr<llvm::FileRemover>> removers;
  std::vector<std::string> paths;
  auto temporary = [&](llvm::StringRef suffix, int &fd) -> std::error_code {
    llvm::SmallString<128> path;
    std::error_code error =
        llvm::sys::fs::createTemporaryFile("oneflow", suffix, fd, path);
    if (!error) {
      removers.push_back(std::make_unique<llvm::FileRemover>(path));
      paths.push_back(path.str().str());
    }
    return error;
  };
  int fd;
  if (std::error_code error = temporary("so", fd))
    return fail("cannot make a temporary file: " + error.message());
  llvm::raw_fd_ostream(fd, /*shouldClose=*/true);
  for (const auto &object : objects) {
    if (std::error_code error = temporary("o", fd))
      return fail("cannot make a temporary file: " + error.message());
    llvm::raw_fd_ostream out(fd, /*shouldClose=*/true);
    out.write(object.data(), object.size());
    out.close();
    if (out.has_error()) {
      std::error_code error = out.error();
      out.clear_error();
      return fail("cannot write " + paths.back() + ": " + error.message());
    }
  }
  std::vector<const char *> arguments = {"ld.lld",
                                         "-shared",
                                         "-nostdlib",
                                         "--no-undefined",
                                         "-Bsymbolic",
                                         "--gc-sections",
                                         "-z",
                                         "separate-code",
                                         "-z",
                                         "text",
                                         "--hash-style=both",
                                         "--build-id=none",
                                         "--threads=1",
                                         "-o",
                                         paths[0].c_str()};
  for (size_t i = 1; i < paths.size(); ++i)
    arguments.push_back(paths[i].c_str());

  std::string messages;
  llvm::raw_string_ostream stream(messages);
  {
    static std::mutex mutex;
    static bool usable = true;
    std::lock_guard<std::mutex> lock(mutex);
    if (!usable)
      return fail("the linker cannot run again after an earlier failure");
    lld::Result result =
        lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
    usable = result.canRunAgain;
    if (result.retCode != 0)
      return fail("cannot link: " + stream.str());
  }
  auto file = llvm::MemoryBuffer::getFile(paths[0], /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return fail("cannot read " + paths[0] + ": " + file.getError().message());
  llvm::SmallVector<char, 0> elf((*file)->getBufferStart(),
                                 (*file)->getBufferEnd());
  return elf;
}

} // namespace oneflow::cpu
