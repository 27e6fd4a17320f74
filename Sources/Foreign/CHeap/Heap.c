// The agent's heap: what is freed is wiped.
//
// Tokens, passphrases and PINs lie in guarded memory from the wire to the seal. Other data passes through the heap: a
// redirect's query with its code, a state that is compared, lines and texts of libraries. `free` wipes it, so that no
// copy can be read from memory or swap later.
//
// The dynamic linker prefers the program's definitions over those of any library (ld.so(8)), also inside libraries. The
// whole family is defined, so that no call reaches another allocator (malloc(3), "Replacing malloc" in glibc's manual).
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "CHeap.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZER_OWNS_HEAP
#endif
#endif
#ifndef SANITIZER_OWNS_HEAP

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

// Above glibc's highest threshold (DEFAULT_MMAP_THRESHOLD_MAX) a block is a mapping of its own, which `free` returns to
// the kernel: wiping it would only touch pages that were never used.
static const size_t own_mapping = (size_t)32 << 20;

void *malloc(size_t size) { return __libc_malloc(size); }

void *calloc(size_t count, size_t size) { return __libc_calloc(count, size); }

void *memalign(size_t alignment, size_t size) { return __libc_memalign(alignment, size); }

void *aligned_alloc(size_t alignment, size_t size) { return __libc_memalign(alignment, size); }

void *valloc(size_t size) { return __libc_memalign((size_t)sysconf(_SC_PAGESIZE), size); }

void *pvalloc(size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return __libc_memalign(page, (size + page - 1) & ~(page - 1));
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) || !alignment || alignment & (alignment - 1)) return EINVAL;
  int saved = errno;
  void *made = __libc_memalign(alignment, size);
  errno = saved;
  if (!made) return ENOMEM;
  *memory = made;
  return 0;
}

void free(void *memory) {
  if (!memory) return;
  size_t size = malloc_usable_size(memory);
  if (size < own_mapping) explicit_bzero(memory, size);
  __libc_free(memory);
}

void *realloc(void *memory, size_t size) {
  if (!memory) return __libc_malloc(size);
  if (!size) {
    free(memory);
    return NULL;
  }
  size_t old = malloc_usable_size(memory);
  // glibc moves a mapping by its pages, without a copy.
  if (old >= own_mapping && size >= own_mapping) return __libc_realloc(memory, size);
  if (size <= old && size >= old / 2) return memory;
  void *other = __libc_malloc(size);
  if (!other) return NULL;
  memcpy(other, memory, size < old ? size : old);
  free(memory);
  return other;
}

void *reallocarray(void *memory, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(memory, bytes);
}

#endif
#endif
