//===- ElfImage.cpp - native code of a plan -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElfImage.h"

#include "DebugRegistration.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace oneflow::runtime;

#ifndef DT_RELR
#define DT_RELRSZ 35
#define DT_RELR 36
#define DT_RELRENT 37
#endif

namespace oneflow::runtime {

/// The steps of ElfImage::load. Every read of the file goes through read(),
/// every access to the image through inImage().
class ElfLoader {
public:
  ElfLoader(const uint8_t *file, uint64_t bytes, ElfImage &image)
      : file(file), fileBytes(bytes), image(image) {}

  Status run();

private:
  struct Segment {
    uint64_t address, memoryBytes, fileOffset, fileBytes;
    uint32_t flags;
  };
  struct Tables {
    uint64_t rela = 0, relaBytes = 0, relr = 0, relrBytes = 0;
    uint64_t symbols = 0, strings = 0, stringBytes = 0;
    uint64_t hash = 0, gnuHash = 0;
  };

  template <typename T> bool read(uint64_t offset, T &value) const {
    if (offset > fileBytes || sizeof(T) > fileBytes - offset)
      return false;
    std::memcpy(&value, file + offset, sizeof(T));
    return true;
  }
  bool inImage(uint64_t address, uint64_t bytes) const {
    return address <= imageBytes && bytes <= imageBytes - address;
  }
  template <typename T> bool readImage(uint64_t address, T &value) const {
    if (!inImage(address, sizeof(T)))
      return false;
    std::memcpy(&value, image.memory.data() + address, sizeof(T));
    return true;
  }
  uint64_t pageDown(uint64_t address) const {
    return address & ~(pageBytes - 1);
  }
  uint64_t pageUp(uint64_t address) const {
    return pageDown(address + pageBytes - 1);
  }

  Status readHeaders();
  Status readSegment(const Elf64_Phdr &header);
  Status mapSegments();
  Status readDynamic();
  Status relocate();
  Status relocateAt(uint64_t address, uint64_t addend);
  Status countSymbols(uint64_t &count) const;
  Status readSymbols();
  Status protect();

  const uint8_t *file;
  uint64_t fileBytes;
  ElfImage &image;
  uint64_t pageBytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t imageBytes = 0;
  std::vector<Segment> segments;
  Elf64_Phdr dynamic = {}, relro = {};
  Tables tables;
};

} // namespace oneflow::runtime

static Status damaged(const char *what) {
  return invalidPlan("the code section is damaged: ", what);
}

Status ElfLoader::readHeaders() {
  Elf64_Ehdr header;
  if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return damaged("not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN ||
      header.e_machine != EM_X86_64)
    return damaged("expected a 64-bit x86-64 shared object");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > 64)
    return damaged("unexpected program headers");
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    // e_phoff near 2^64 must not wrap around.
    if (header.e_phoff > fileBytes ||
        !read(header.e_phoff + i * sizeof(segment), segment))
      return damaged("program headers outside the file");
    switch (segment.p_type) {
    case PT_LOAD:
      if (Status status = readSegment(segment))
        return status;
      break;
    case PT_DYNAMIC:
      dynamic = segment;
      break;
    case PT_GNU_RELRO:
      relro = segment;
      break;
    case PT_TLS:
    case PT_INTERP:
      return damaged("thread-local storage and interpreters are not supported");
    default:
      break;
    }
  }
  if (segments.empty() || dynamic.p_type != PT_DYNAMIC)
    return damaged("no loadable segment or no dynamic section");
  return Status();
}

Status ElfLoader::readSegment(const Elf64_Phdr &header) {
  constexpr uint64_t limit = uint64_t(1) << 32;
  if (header.p_offset > fileBytes ||
      header.p_filesz > fileBytes - header.p_offset ||
      header.p_filesz > header.p_memsz)
    return damaged("a segment lies outside the file");
  if (header.p_vaddr > limit || header.p_memsz > limit)
    return damaged("a segment is larger than 4 GiB");
  if ((header.p_flags & PF_W) && (header.p_flags & PF_X))
    return damaged("a segment is writable and executable");
  // Segments have pages of their own, so that each can have its own protection.
  if (!segments.empty() &&
      pageDown(header.p_vaddr) <
          pageUp(segments.back().address + segments.back().memoryBytes))
    return damaged("segments share a page or are not in ascending order");
  segments.push_back({header.p_vaddr, header.p_memsz, header.p_offset,
                      header.p_filesz, header.p_flags});
  imageBytes = pageUp(header.p_vaddr + header.p_memsz);
  return Status();
}

Status ElfLoader::mapSegments() {
  if (Status status =
          MappedMemory::allocate(imageBytes, "compiled code", image.memory))
    return status;
  for (const Segment &segment : segments)
    std::memcpy(image.memory.data() + segment.address,
                file + segment.fileOffset, segment.fileBytes);
  return Status();
}

Status ElfLoader::readDynamic() {
  uint64_t relaEntry = sizeof(Elf64_Rela), symbolEntry = sizeof(Elf64_Sym);
  for (uint64_t at = dynamic.p_vaddr;; at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    if (at - dynamic.p_vaddr >= dynamic.p_memsz || !readImage(at, entry))
      return damaged("the dynamic section has no end");
    uint64_t value = entry.d_un.d_val;
    switch (entry.d_tag) {
    case DT_NULL:
      if (relaEntry != sizeof(Elf64_Rela) || symbolEntry != sizeof(Elf64_Sym))
        return damaged("unexpected sizes of dynamic entries");
      return Status();
    case DT_RELA:
      tables.rela = value;
      break;
    case DT_RELASZ:
      tables.relaBytes = value;
      break;
    case DT_RELAENT:
      relaEntry = value;
      break;
    case DT_RELR:
      tables.relr = value;
      break;
    case DT_RELRSZ:
      tables.relrBytes = value;
      break;
    case DT_SYMTAB:
      tables.symbols = value;
      break;
    case DT_SYMENT:
      symbolEntry = value;
      break;
    case DT_STRTAB:
      tables.strings = value;
      break;
    case DT_STRSZ:
      tables.stringBytes = value;
      break;
    case DT_HASH:
      tables.hash = value;
      break;
    case DT_GNU_HASH:
      tables.gnuHash = value;
      break;
    case DT_NEEDED:
      return damaged("it needs another library");
    case DT_REL:
    case DT_JMPREL:
    case DT_TEXTREL:
      return damaged("it has relocations other than relative ones");
    case DT_INIT:
    case DT_FINI:
    case DT_INIT_ARRAY:
    case DT_FINI_ARRAY:
    case DT_PREINIT_ARRAY:
      return damaged("it has constructors or destructors");
    default:
      break;
    }
  }
}

// Adds the load address to `addend` and stores the sum in a writable segment.
Status ElfLoader::relocateAt(uint64_t address, uint64_t addend) {
  for (const Segment &segment : segments) {
    if (!(segment.flags & PF_W) || address < segment.address ||
        address - segment.address > segment.memoryBytes ||
        segment.memoryBytes - (address - segment.address) < sizeof(uint64_t))
      continue;
    if (addend > imageBytes)
      return damaged("a relocation points outside the image");
    uint64_t value = reinterpret_cast<uint64_t>(image.memory.data()) + addend;
    std::memcpy(image.memory.data() + address, &value, sizeof(value));
    return Status();
  }
  return damaged("a relocation lies outside writable memory");
}

Status ElfLoader::relocate() {
  for (uint64_t done = 0; done < tables.relaBytes; done += sizeof(Elf64_Rela)) {
    Elf64_Rela entry;
    if (tables.rela > imageBytes || !readImage(tables.rela + done, entry))
      return damaged("relocations lie outside the image");
    if (ELF64_R_TYPE(entry.r_info) != R_X86_64_RELATIVE)
      return invalidPlan("the code section has a relocation of type ",
                         ELF64_R_TYPE(entry.r_info),
                         ", expected relative ones only");
    if (Status status =
            relocateAt(entry.r_offset, static_cast<uint64_t>(entry.r_addend)))
      return status;
  }
  // RELR: an even entry is an address; an odd one is a bitmap of which of the
  // 63 words that follow are relocated too. Addends stand in place.
  uint64_t next = 0;
  for (uint64_t done = 0; done < tables.relrBytes; done += sizeof(uint64_t)) {
    uint64_t entry, addend;
    if (tables.relr > imageBytes || !readImage(tables.relr + done, entry))
      return damaged("relocations lie outside the image");
    uint64_t bits = entry & 1 ? entry >> 1 : 1;
    uint64_t at = entry & 1 ? next : entry;
    next = entry & 1 ? next + 63 * sizeof(uint64_t) : entry + sizeof(uint64_t);
    for (; bits; bits >>= 1, at += sizeof(uint64_t)) {
      if (!(bits & 1))
        continue;
      if (!readImage(at, addend))
        return damaged("a relocation lies outside the image");
      if (Status status = relocateAt(at, addend))
        return status;
    }
  }
  return Status();
}

// The dynamic symbol table has no length of its own; a hash table tells it.
Status ElfLoader::countSymbols(uint64_t &count) const {
  uint32_t header[4];
  if (tables.hash) {
    if (!readImage(tables.hash, header[0]) ||
        !readImage(tables.hash + 4, header[1]))
      return damaged("the symbol hash table lies outside the image");
    count = header[1];
    return Status();
  }
  if (!tables.gnuHash || !readImage(tables.gnuHash, header))
    return damaged("no symbol hash table");
  uint64_t buckets = header[0], first = header[1], words = header[2];
  uint64_t bucketsAt = tables.gnuHash + 16 + words * 8;
  uint64_t last = 0;
  for (uint64_t i = 0; i < buckets; ++i) {
    uint32_t start;
    if (!readImage(bucketsAt + 4 * i, start))
      return damaged("the symbol hash table lies outside the image");
    last = std::max<uint64_t>(last, start);
  }
  count = first;
  if (last < first)
    return Status();
  // The last chain ends at the entry whose low bit is set.
  for (uint64_t index = last;; ++index) {
    uint32_t entry;
    if (!readImage(bucketsAt + 4 * buckets + 4 * (index - first), entry))
      return damaged("the symbol hash table lies outside the image");
    if (entry & 1) {
      count = index + 1;
      return Status();
    }
  }
}

Status ElfLoader::readSymbols() {
  uint64_t count = 0;
  if (Status status = countSymbols(count))
    return status;
  if (!inImage(tables.strings, tables.stringBytes) ||
      count > imageBytes / sizeof(Elf64_Sym) ||
      !inImage(tables.symbols, count * sizeof(Elf64_Sym)))
    return damaged("the symbol table lies outside the image");
  const char *strings =
      reinterpret_cast<const char *>(image.memory.data() + tables.strings);
  std::vector<CodeSymbol> named;
  for (uint64_t i = 1; i < count; ++i) {
    Elf64_Sym symbol;
    readImage(tables.symbols + i * sizeof(symbol), symbol);
    if (symbol.st_name >= tables.stringBytes)
      return damaged("a symbol's name lies outside the string table");
    const char *name = strings + symbol.st_name;
    uint64_t length = strnlen(name, tables.stringBytes - symbol.st_name);
    if (length == tables.stringBytes - symbol.st_name)
      return damaged("a symbol's name has no end");
    if (length == 0)
      continue;
    if (symbol.st_shndx == SHN_UNDEF)
      return invalidPlan("the code section has the undefined symbol '", name,
                         "'");
    for (const Segment &segment : segments)
      if ((segment.flags & PF_X) && symbol.st_value >= segment.address &&
          symbol.st_value < segment.address + segment.memoryBytes) {
        image.functions.emplace(name, symbol.st_value);
        named.push_back(
            {name,
             reinterpret_cast<uint64_t>(image.memory.data()) + symbol.st_value,
             symbol.st_size});
      }
  }
  writePerfMap(named);
  return Status();
}

Status ElfLoader::protect() {
  uint8_t *base = image.memory.data();
  // Gaps between segments stay inaccessible.
  if (mprotect(base, imageBytes, PROT_NONE) != 0)
    return Status(OF_STATUS_IO, "cannot protect compiled code");
  for (const Segment &segment : segments) {
    if (segment.memoryBytes == 0)
      continue;
    int protection = PROT_READ | (segment.flags & PF_W ? PROT_WRITE : 0) |
                     (segment.flags & PF_X ? PROT_EXEC : 0);
    uint64_t begin = pageDown(segment.address);
    uint64_t end = pageUp(segment.address + segment.memoryBytes);
    if (mprotect(base + begin, end - begin, protection) != 0)
      return Status(OF_STATUS_IO,
                    "cannot make compiled code executable; is memory mapped "
                    "noexec by a security policy?");
  }
  if (relro.p_memsz > 0) {
    // Whole pages only, and only what is writable so far.
    uint64_t begin = pageUp(relro.p_vaddr);
    uint64_t end = pageDown(relro.p_vaddr + relro.p_memsz);
    if (relro.p_vaddr <= imageBytes && relro.p_memsz <= imageBytes &&
        begin < end && inImage(begin, end - begin))
      for (const Segment &segment : segments) {
        uint64_t from = std::max(begin, pageDown(segment.address));
        uint64_t to =
            std::min(end, pageUp(segment.address + segment.memoryBytes));
        if ((segment.flags & PF_W) && from < to &&
            mprotect(base + from, to - from, PROT_READ) != 0)
          return Status(OF_STATUS_IO, "cannot protect relocated constants");
      }
  }
  return Status();
}

Status ElfLoader::run() {
  if (Status status = readHeaders())
    return status;
  if (Status status = mapSegments())
    return status;
  if (Status status = readDynamic())
    return status;
  if (Status status = relocate())
    return status;
  if (Status status = readSymbols())
    return status;
  return protect();
}

ElfImage::ElfImage() = default;
ElfImage::~ElfImage() = default;

Status ElfImage::load(const uint8_t *file, uint64_t bytes) {
  if (Status status = ElfLoader(file, bytes, *this).run())
    return status;
  registration = std::make_unique<DebugRegistration>(
      file, bytes, reinterpret_cast<uint64_t>(memory.data()));
  return Status();
}

void *ElfImage::findFunction(std::string_view name) const {
  auto found = functions.find(std::string(name));
  return found == functions.end() ? nullptr : memory.data() + found->second;
}
