// Counts the allocations of a program whose own `malloc` calls glibc's under its internal names (Sources/Foreign/CHeap).
//
// The number is in the first eight bytes of the file COUNT, which must have a page, and which this library maps.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_ulong before_mapped;
static atomic_ulong *count = &before_mapped;

__attribute__((constructor)) static void map_count(void) {
  int fd = open(COUNT, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page != MAP_FAILED) count = page;
}

// The names are reserved; this library exists to stand before them.
#define COUNT_AND_CALL(name, ...)                                     \
  static __typeof__(&name) next;                                      \
  if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);       \
  atomic_fetch_add(count, 1);                                         \
  return next(__VA_ARGS__)

void *__libc_malloc(size_t size) { COUNT_AND_CALL(__libc_malloc, size); }
void *__libc_calloc(size_t number, size_t size) { COUNT_AND_CALL(__libc_calloc, number, size); }
void *__libc_realloc(void *memory, size_t size) { COUNT_AND_CALL(__libc_realloc, memory, size); }
void *__libc_memalign(size_t alignment, size_t size) { COUNT_AND_CALL(__libc_memalign, alignment, size); }
