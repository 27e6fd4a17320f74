#define _GNU_SOURCE
#include "CPlatform.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

// Read-only segments equal their file, so dropping their pages loses nothing.
static int give_back(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size;
  (void)context;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  struct {
    uintptr_t start, length;
  } segments[16];
  size_t count = 0;
  // The program headers lie in pages that are dropped here: read them all first.
  for (int header = 0; header < object->dlpi_phnum && count < 16; header++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[header];
    if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
    uintptr_t start = (object->dlpi_addr + segment->p_vaddr) & ~(page - 1);
    segments[count].start = start;
    segments[count++].length = object->dlpi_addr + segment->p_vaddr + segment->p_memsz - start;
  }
  while (count-- > 0) madvise((void *)segments[count].start, segments[count].length, MADV_DONTNEED);
  return 0;
}

void lanyard_give_back_pages(void) { dl_iterate_phdr(give_back, NULL); }

void lanyard_limit_heaps(int count) { mallopt(M_ARENA_MAX, count); }

void lanyard_give_back_heap(void) { malloc_trim(0); }
