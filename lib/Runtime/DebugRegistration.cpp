//===- DebugRegistration.cpp - names for debuggers and profilers ----------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DebugRegistration.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <mutex>
#include <unistd.h>

using namespace oneflow::runtime;

// Names, layout and protocol are fixed by gdb, which finds both symbols by name
// and sets a breakpoint in the function.
extern "C" {
struct jit_code_entry {
  jit_code_entry *next_entry;
  jit_code_entry *prev_entry;
  const char *symfile_addr;
  uint64_t symfile_size;
};

struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  jit_code_entry *relevant_entry;
  jit_code_entry *first_entry;
};

__attribute__((used)) jit_descriptor __jit_debug_descriptor = {1, 0, nullptr,
                                                               nullptr};
__attribute__((used, noinline)) void __jit_debug_register_code() {
  // Keeps the body from being merged with another empty function.
  __asm__ volatile("" ::: "memory");
}
}

struct DebugRegistration::Entry : jit_code_entry {};

static std::mutex &registrationMutex() {
  static std::mutex mutex;
  return mutex;
}

// gdb takes addresses from section headers and symbols as they stand, so both
// are moved to where the image really lies. Anything out of bounds is left
// alone.
static void relocateForDebugger(std::vector<uint8_t> &file, uint64_t base) {
  auto inside = [&](uint64_t offset, uint64_t bytes) {
    return offset <= file.size() && bytes <= file.size() - offset;
  };
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.e_shentsize != sizeof(Elf64_Shdr) ||
      !inside(header.e_shoff, uint64_t(header.e_shnum) * sizeof(Elf64_Shdr)))
    return;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    uint8_t *at = file.data() + header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, at, sizeof(section));
    if (section.sh_flags & SHF_ALLOC) {
      section.sh_addr += base;
      std::memcpy(at, &section, sizeof(section));
    }
    if ((section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) ||
        !inside(section.sh_offset, section.sh_size))
      continue;
    for (uint64_t s = 0; s + sizeof(Elf64_Sym) <= section.sh_size;
         s += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, file.data() + section.sh_offset + s, sizeof(symbol));
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE)
        symbol.st_value += base;
      std::memcpy(file.data() + section.sh_offset + s, &symbol, sizeof(symbol));
    }
  }
}

DebugRegistration::DebugRegistration(const uint8_t *file, uint64_t bytes,
                                     uint64_t base)
    : copy(file, file + bytes), entry(new Entry()) {
  relocateForDebugger(copy, base);
  entry->symfile_addr = reinterpret_cast<const char *>(copy.data());
  entry->symfile_size = copy.size();
  std::lock_guard<std::mutex> lock(registrationMutex());
  entry->prev_entry = nullptr;
  entry->next_entry = __jit_debug_descriptor.first_entry;
  if (entry->next_entry)
    entry->next_entry->prev_entry = entry.get();
  __jit_debug_descriptor.first_entry = entry.get();
  __jit_debug_descriptor.relevant_entry = entry.get();
  __jit_debug_descriptor.action_flag = 1; // JIT_REGISTER_FN
  __jit_debug_register_code();
}

DebugRegistration::~DebugRegistration() {
  std::lock_guard<std::mutex> lock(registrationMutex());
  if (entry->prev_entry)
    entry->prev_entry->next_entry = entry->next_entry;
  else
    __jit_debug_descriptor.first_entry = entry->next_entry;
  if (entry->next_entry)
    entry->next_entry->prev_entry = entry->prev_entry;
  __jit_debug_descriptor.relevant_entry = entry.get();
  __jit_debug_descriptor.action_flag = 2; // JIT_UNREGISTER_FN
  __jit_debug_register_code();
}

void oneflow::runtime::writePerfMap(const std::vector<CodeSymbol> &symbols) {
  const char *wanted = std::getenv("ONEFLOW_PERF_MAP");
  if (!wanted || std::strcmp(wanted, "1") != 0)
    return;
  char path[64];
  std::snprintf(path, sizeof(path), "/tmp/perf-%ld.map",
                static_cast<long>(getpid()));
  std::lock_guard<std::mutex> lock(registrationMutex());
  FILE *file = std::fopen(path, "ae");
  if (!file)
    return;
  for (const CodeSymbol &symbol : symbols)
    std::fprintf(file, "%llx %llx %s\n",
                 static_cast<unsigned long long>(symbol.address),
                 static_cast<unsigned long long>(symbol.bytes), symbol.name);
  std::fclose(file);
}
