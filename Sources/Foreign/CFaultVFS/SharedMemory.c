// The wal-index: shared memory on the heap; the unix VFS keeps it in a file (xShm* of sqlite3_io_methods).
#include <stdlib.h>
#include <string.h>

#include "Disk.h"

struct shared_memory {
  int references;
  int region_count;
  void **regions;
  int shared[SQLITE_SHM_NLOCK];     // how many handles hold the slot shared
  int exclusive[SQLITE_SHM_NLOCK];  // whether one handle holds it exclusively
};

static shared_memory *of(handle *file) {
  if (!file->shared && file->node) {
    if (!file->node->shared) {
      file->node->shared = calloc(1, sizeof(shared_memory));
      if (!file->node->shared) abort();
    }
    file->shared = file->node->shared;
    file->shared->references++;
  }
  return file->shared;
}

int shared_memory_map(sqlite3_file *base, int region, int size, int extend, void volatile **memory) {
  handle *file = (handle *)base;
  *memory = NULL;
  pthread_mutex_lock(&file->disk->mutex);
  int result = SQLITE_OK;
  shared_memory *shared = of(file);
  if (!shared || file->disk->dead) {
    result = SQLITE_IOERR_SHMMAP;
  } else {
    if (extend && region >= shared->region_count) {
      shared->regions = realloc(shared->regions, (region + 1) * sizeof(void *));
      if (!shared->regions) abort();
      while (shared->region_count <= region) {
        void *fresh = calloc(1, size);
        if (!fresh) abort();
        shared->regions[shared->region_count++] = fresh;
      }
    }
    if (region < shared->region_count) *memory = shared->regions[region];
  }
  pthread_mutex_unlock(&file->disk->mutex);
  return result;
}

static void unlock(handle *file, uint16_t mask) {
  for (int slot = 0; slot < SQLITE_SHM_NLOCK; slot++) {
    uint16_t bit = (uint16_t)(1u << slot);
    if (!(mask & bit)) continue;
    if (file->shared_locks & bit) file->shared->shared[slot]--;
    if (file->exclusive_locks & bit) file->shared->exclusive[slot] = 0;
  }
  file->shared_locks &= (uint16_t)~mask;
  file->exclusive_locks &= (uint16_t)~mask;
}

int shared_memory_lock(sqlite3_file *base, int offset, int count, int flags) {
  handle *file = (handle *)base;
  uint16_t mask = (uint16_t)(((1u << count) - 1) << offset);
  pthread_mutex_lock(&file->disk->mutex);
  int result = SQLITE_OK;
  shared_memory *shared = of(file);
  if (!shared) {
    result = flags & SQLITE_SHM_UNLOCK ? SQLITE_OK : SQLITE_IOERR_SHMLOCK;
  } else if (flags & SQLITE_SHM_UNLOCK) {
    unlock(file, mask);
  } else if (file->disk->dead) {
    result = SQLITE_IOERR_SHMLOCK;
  } else if (flags & SQLITE_SHM_SHARED) {
    for (int slot = offset; slot < offset + count; slot++)
      if (shared->exclusive[slot] && !(file->exclusive_locks & (1u << slot))) result = SQLITE_BUSY;
    for (int slot = offset; slot < offset + count && result == SQLITE_OK; slot++)
      if (!(file->shared_locks & (1u << slot))) {
        shared->shared[slot]++;
        file->shared_locks |= (uint16_t)(1u << slot);
      }
  } else {
    for (int slot = offset; slot < offset + count; slot++) {
      int mine = (file->shared_locks >> slot) & 1;
      if (shared->shared[slot] > mine || (shared->exclusive[slot] && !(file->exclusive_locks & (1u << slot))))
        result = SQLITE_BUSY;
    }
    for (int slot = offset; slot < offset + count && result == SQLITE_OK; slot++) {
      shared->exclusive[slot] = 1;
      file->exclusive_locks |= (uint16_t)(1u << slot);
    }
  }
  pthread_mutex_unlock(&file->disk->mutex);
  return result;
}

void shared_memory_barrier(sqlite3_file *base) {
  (void)base;
  __sync_synchronize();
}

int shared_memory_unmap(sqlite3_file *base, int delete) {
  (void)delete;
  handle *file = (handle *)base;
  pthread_mutex_lock(&file->disk->mutex);
  shared_memory *shared = file->shared;
  if (shared) {
    unlock(file, 0xffff);
    file->shared = NULL;
    if (--shared->references == 0) {
      if (file->node && file->node->shared == shared) file->node->shared = NULL;
      for (int region = 0; region < shared->region_count; region++) free(shared->regions[region]);
      free(shared->regions);
      free(shared);
    }
  }
  pthread_mutex_unlock(&file->disk->mutex);
  return SQLITE_OK;
}
