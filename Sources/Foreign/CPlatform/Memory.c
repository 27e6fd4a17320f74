#define _GNU_SOURCE
#include "CPlatform.h"

#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Segments that nobody may write are what their file says, so nothing is lost with their pages.
static int give_back(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size;
  (void)context;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  struct {
    uintptr_t start, length;
  } segments[16];
  size_t count = 0;
  // The headers stand in pages that are given back here: all are read first.
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

// Deep enough for what the agent's own calls leave behind; every thread's stack is larger.
enum { wiped_stack_bytes = 48 << 10 };

__attribute__((noinline)) void lanyard_wipe_stack(void) {
  char below[wiped_stack_bytes];
  explicit_bzero(below, sizeof below);
  // It must have an address that somebody could look at.
  __asm__ volatile("" : : "r"(below) : "memory");
}

void lanyard_give_back_pages(void) { dl_iterate_phdr(give_back, NULL); }
