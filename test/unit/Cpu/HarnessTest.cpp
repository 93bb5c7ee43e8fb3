//===- HarnessTest.cpp - the object itself --------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <gtest/gtest.h>

using namespace oneflow::test;

// Fills and copies that LLVM turns into memset and memcpy.
static const char *kModule = R"(
func.func @fill() -> tensor<100000xf32> attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<100000xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<100000xf32>) -> tensor<100000xf32>
  return %f : tensor<100000xf32>
}
func.func @copy(%x: tensor<100001xf32>) -> tensor<100001xf32> attributes {oneflow.kernel} {
  return %x : tensor<100001xf32>
}
)";

TEST(Object, NeedsNothingAndRelocatesRelatively) {
  Kernels kernels(kModule);
  const char *base = kernels.elf.data();
  Elf64_Ehdr header;
  memcpy(&header, base, sizeof header);
  ASSERT_EQ(memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  EXPECT_EQ(header.e_type, ET_DYN);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  memcpy(sections.data(), base + header.e_shoff,
         sections.size() * sizeof(Elf64_Shdr));
  bool sawSymbols = false;
  for (const Elf64_Shdr &section : sections) {
    if (section.sh_type == SHT_DYNSYM) {
      sawSymbols = true;
      std::vector<Elf64_Sym> symbols(section.sh_size / sizeof(Elf64_Sym));
      memcpy(symbols.data(), base + section.sh_offset, section.sh_size);
      const char *names = base + sections[section.sh_link].sh_offset;
      for (size_t i = 1; i < symbols.size(); ++i) {
        EXPECT_NE(symbols[i].st_shndx, SHN_UNDEF) << names + symbols[i].st_name;
        std::string name = names + symbols[i].st_name;
        EXPECT_TRUE(name.rfind("fill", 0) == 0 || name.rfind("copy", 0) == 0)
            << name;
      }
    }
    if (section.sh_type == SHT_RELA) {
      std::vector<Elf64_Rela> relocations(section.sh_size / sizeof(Elf64_Rela));
      memcpy(relocations.data(), base + section.sh_offset, section.sh_size);
      for (const Elf64_Rela &relocation : relocations)
        EXPECT_EQ(ELF64_R_TYPE(relocation.r_info), R_X86_64_RELATIVE);
    }
    if (section.sh_type == SHT_DYNAMIC) {
      std::vector<Elf64_Dyn> entries(section.sh_size / sizeof(Elf64_Dyn));
      memcpy(entries.data(), base + section.sh_offset, section.sh_size);
      for (const Elf64_Dyn &entry : entries)
        EXPECT_NE(entry.d_tag, DT_NEEDED);
    }
  }
  EXPECT_TRUE(sawSymbols);
}

TEST(Object, FillsAndCopies) {
  Kernels kernels(kModule);
  Buffer out(100000 * 4);
  EXPECT_EQ(kernels.run("fill", {out}, {}, 1), 0);
  EXPECT_EQ(out.get<float>(), std::vector<float>(100000, 0.0f));
  std::vector<float> x = randomF32(100001);
  Buffer y(x.size() * 4);
  EXPECT_EQ(kernels.run("copy", {Buffer::of(x), y}, {}, 2), 0);
  EXPECT_EQ(y.get<float>(), x);
}

TEST(Object, GenericTargetNeedsNoAvx512) {
  Kernels kernels(kModule, /*generic=*/true);
  for (const std::string &feature : kernels.features)
    EXPECT_EQ(feature.find("avx512"), std::string::npos) << feature;
  EXPECT_NE(std::find(kernels.features.begin(), kernels.features.end(), "fma"),
            kernels.features.end());
}
