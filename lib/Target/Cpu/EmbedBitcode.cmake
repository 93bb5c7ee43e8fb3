# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes a C++ source that holds bitcode files.
#   cmake -DOUT=Library.cpp -DMATH=math.bc -DMEMORY=memory.bc -P EmbedBitcode.cmake
function(bytes file var)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  set(${var} "${hex}" PARENT_SCOPE)
endfunction()
bytes(${MATH} math)
bytes(${MEMORY} memory)
file(WRITE ${OUT} "#include \"Library.h\"
static const unsigned char math[] = {${math}};
static const unsigned char memory[] = {${memory}};
namespace oneflow::cpu {
llvm::StringRef mathBitcode() {
  return {reinterpret_cast<const char *>(math), sizeof(math)};
}
llvm::StringRef memoryBitcode() {
  return {reinterpret_cast<const char *>(memory), sizeof(memory)};
}
} // namespace oneflow::cpu
")
