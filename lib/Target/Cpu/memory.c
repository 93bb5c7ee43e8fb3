/*===-- memory.c - memset and its kin for kernels
---------------------------===*\
|*
|* Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* LLVM turns loops into calls of these three; a kernel has no C library to find
|* them in. Compiled without builtins, so that they are not turned into calls
|* of themselves.
|*
\*===----------------------------------------------------------------------===*/

#include <stddef.h>
#include <stdint.h>

typedef uint64_t block __attribute__((vector_size(32), aligned(1), may_alias));

void *memset(void *destination, int value, size_t size) {
  unsigned char *bytes = destination;
  uint64_t pattern = 0x0101010101010101ull * (unsigned char)value;
  block wide = {pattern, pattern, pattern, pattern};
  while (size >= sizeof(block)) {
    *(block *)bytes = wide;
    bytes += sizeof(block);
    size -= sizeof(block);
  }
  while (size--)
    *bytes++ = (unsigned char)value;
  return destination;
}

void *memcpy(void *restrict destination, const void *restrict source,
             size_t size) {
  unsigned char *to = destination;
  const unsigned char *from = source;
  while (size >= sizeof(block)) {
    *(block *)to = *(const block *)from;
    to += sizeof(block);
    from += sizeof(block);
    size -= sizeof(block);
  }
  while (size--)
    *to++ = *from++;
  return destination;
}

void *memmove(void *destination, const void *source, size_t size) {
  unsigned char *to = destination;
  const unsigned char *from = source;
  if ((uintptr_t)to - (uintptr_t)from >= size)
    return memcpy(destination, source, size);
  while (size--)
    to[size] = from[size];
  return destination;
}
