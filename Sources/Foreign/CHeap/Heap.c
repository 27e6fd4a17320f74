// The agent's heap: what is freed is wiped.
//
// Tokens, passphrases and PINs lie in guarded memory from the wire to the seal. Other things pass through the heap on
// their way: a redirect's query with its code, a state that is compared, lines and texts of libraries. They are gone
// when nobody holds them, and then nothing of them is left to be read out of memory or swap.
//
// The program's own definitions come before those of any library (ld.so(8)), also for the libraries themselves. All of
// the family are here, so that no other allocator gets in between (malloc(3), "Replacing malloc" in glibc's manual).
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
#define HEAP_IS_SOMEBODY_ELSES
#endif
#endif
#ifndef HEAP_IS_SOMEBODY_ELSES

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

// Above glibc's highest threshold (DEFAULT_MMAP_THRESHOLD_MAX) a block is a mapping of its own, and goes back to the
// kernel as it is freed: wiping it would only bring pages in that were never used.
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
  // A mapping moves by its pages.
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
