// The disk: its directory, its fault plan, and the simulated ends of a process.
#include <stdlib.h>
#include <string.h>

#include "Disk.h"

// SplitMix64 (Steele, Lea, Flood 2014): every seed is good, 0 included.
uint64_t disk_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

lanyard_disk *lanyard_disk_create(const char *name) {
  if (sqlite3_initialize() != SQLITE_OK || sqlite3_vfs_find(name)) return NULL;
  lanyard_disk *disk = calloc(1, sizeof *disk);
  if (!disk) abort();
  disk->name = strdup(name);
  disk->capacity = UINT64_MAX;
  pthread_mutex_init(&disk->mutex, NULL);
  disk_fill_vfs(disk);
  sqlite3_vfs_register(&disk->vfs, 0);
  return disk;
}

static void release_all(node **list) {
  while (*list) {
    node *node = *list;
    *list = node->next;
    node_release(node);
  }
}

void lanyard_disk_destroy(lanyard_disk *disk) {
  sqlite3_vfs_unregister(&disk->vfs);
  disk_detach_handles(disk);
  release_all(&disk->nodes);
  release_all(&disk->unlinked);
  pthread_mutex_destroy(&disk->mutex);
  free(disk->name);
  free(disk);
}

node *disk_find(lanyard_disk *disk, const char *name) {
  for (node *node = disk->nodes; node; node = node->next)
    if (strcmp(node->name, name) == 0) return node;
  return NULL;
}

node *disk_create_node(lanyard_disk *disk, const char *name) {
  node *made = calloc(1, sizeof *made);
  if (!made) abort();
  made->name = strdup(name);
  made->references = 1;
  node **end = &disk->nodes;
  while (*end) end = &(*end)->next;
  *end = made;
  return made;
}

void disk_unlink(lanyard_disk *disk, node *node, int durable) {
  struct node **link = &disk->nodes;
  while (*link != node) link = &(*link)->next;
  *link = node->next;
  node->next = NULL;
  if (durable || !node->name_on_medium) {
    node_release(node);
  } else {
    node->next = disk->unlinked;
    disk->unlinked = node;
  }
}

uint64_t disk_used(lanyard_disk *disk) {
  uint64_t used = 0;
  for (node *node = disk->nodes; node; node = node->next) used += node->seen.size;
  return used;
}

// ---- The plan ------------------------------------------------------------------------------------------------

static int failure_code(lanyard_disk *disk, operation kind) {
  if (disk->failure == LANYARD_FAILURE_FULL) return SQLITE_FULL;
  switch (kind) {
    case op_create: return SQLITE_CANTOPEN;
    case op_write: return SQLITE_IOERR_WRITE;
    case op_truncate: return SQLITE_IOERR_TRUNCATE;
    case op_sync: return SQLITE_IOERR_FSYNC;
    case op_delete: return SQLITE_IOERR_DELETE;
  }
  return SQLITE_IOERR;
}

int disk_operation(lanyard_disk *disk, operation kind, size_t count, size_t *partial) {
  *partial = 0;
  if (disk->dead) return SQLITE_IOERR;
  disk->operations++;
  if (kind == op_sync) disk->syncs++;
  if (disk->read_only && kind != op_sync) return SQLITE_IOERR_WRITE;  // the unix VFS maps EROFS so
  if (disk->fault == LANYARD_FAULT_NONE) return SQLITE_OK;
  int due = disk->fault == LANYARD_FAULT_FAIL_FROM ? disk->operations >= disk->fault_at
                                                   : disk->operations == disk->fault_at;
  // A full disk still syncs, shrinks and deletes.
  if (disk->failure == LANYARD_FAILURE_FULL && disk->fault <= LANYARD_FAULT_FAIL_FROM && kind != op_write &&
      kind != op_create)
    due = 0;
  if (!due) return SQLITE_OK;
  disk->faulted = 1;
  if (kind == op_write && disk->seed) {
    uint64_t random = disk->seed + disk->operations;
    *partial = disk_random(&random) % (count / sector_bytes + 1) * sector_bytes;
  }
  switch (disk->fault) {
    case LANYARD_FAULT_KILL:
    case LANYARD_FAULT_POWER_LOSS: return SQLITE_IOERR;  // the caller writes partially, then the power is lost
    default: return failure_code(disk, kind);
  }
}

void lanyard_disk_plan(
    lanyard_disk *disk, lanyard_fault fault, uint64_t operation, lanyard_failure failure, uint64_t seed) {
  pthread_mutex_lock(&disk->mutex);
  disk->fault = fault;
  disk->fault_at = operation;
  disk->failure = failure;
  disk->seed = seed;
  disk->faulted = 0;
  pthread_mutex_unlock(&disk->mutex);
}

// ---- Kill and power loss -------------------------------------------------------------------------------------

// The seed decides whether an unsynced creation or deletion of a name survives.
static void settle_directory(lanyard_disk *disk, uint64_t *random) {
  node **link = &disk->nodes;
  while (*link) {
    node *node = *link;
    if (node->name_on_medium || (disk_random(random) & 1)) {
      node->name_on_medium = 1;
      link = &node->next;
    } else {
      *link = node->next;
      node_release(node);
    }
  }
  while (disk->unlinked) {
    node *node = disk->unlinked;
    disk->unlinked = node->next;
    node->next = NULL;
    if (!disk_find(disk, node->name) && (disk_random(random) & 1)) {
      node->next = disk->nodes;
      disk->nodes = node;
    } else {
      node_release(node);
    }
  }
}

static void settle_file(node *node, uint64_t *random) {
  size_t sizes[2] = {node->medium.size, node->seen.size};
  size_t size = sizes[disk_random(random) & 1];
  image_resize(&node->medium, size);
  for (size_t sector = 0; sector < node->dirty_sectors && sector * sector_bytes < size; sector++) {
    size_t offset = sector * sector_bytes;
    if (!node->dirty[sector] || offset >= node->seen.size || !(disk_random(random) & 1)) continue;
    size_t end = offset + sector_bytes;
    if (end > size) end = size;
    if (end > node->seen.size) end = node->seen.size;
    memcpy(node->medium.bytes + offset, node->seen.bytes + offset, end - offset);
  }
  image_resize(&node->seen, 0);
  image_resize(&node->seen, size);
  if (size) memcpy(node->seen.bytes, node->medium.bytes, size);
  node_forget_dirty(node);
}

static void lose_power(lanyard_disk *disk, uint64_t seed) {
  uint64_t random = seed;
  disk_detach_handles(disk);
  settle_directory(disk, &random);
  for (node *node = disk->nodes; node; node = node->next) settle_file(node, &random);
  disk->dead = 1;
}

void disk_die_as_planned(lanyard_disk *disk) {
  if (!disk->faulted || disk->dead) return;
  if (disk->fault == LANYARD_FAULT_KILL) disk->dead = 1;
  if (disk->fault == LANYARD_FAULT_POWER_LOSS) lose_power(disk, disk->seed);
}

void lanyard_disk_kill(lanyard_disk *disk) {
  pthread_mutex_lock(&disk->mutex);
  disk->dead = 1;
  pthread_mutex_unlock(&disk->mutex);
}

void lanyard_disk_lose_power(lanyard_disk *disk, uint64_t seed) {
  pthread_mutex_lock(&disk->mutex);
  lose_power(disk, seed);
  pthread_mutex_unlock(&disk->mutex);
}

void lanyard_disk_revive(lanyard_disk *disk) {
  pthread_mutex_lock(&disk->mutex);
  disk_detach_handles(disk);
  disk->dead = 0;
  disk->faulted = 0;
  disk->fault = LANYARD_FAULT_NONE;
  pthread_mutex_unlock(&disk->mutex);
}

// ---- Settings and counts -------------------------------------------------------------------------------------

static uint64_t locked(lanyard_disk *disk, const uint64_t *value) {
  pthread_mutex_lock(&disk->mutex);
  uint64_t result = *value;
  pthread_mutex_unlock(&disk->mutex);
  return result;
}

uint64_t lanyard_disk_operations(lanyard_disk *disk) { return locked(disk, &disk->operations); }
uint64_t lanyard_disk_syncs(lanyard_disk *disk) { return locked(disk, &disk->syncs); }

int lanyard_disk_faulted(lanyard_disk *disk) {
  pthread_mutex_lock(&disk->mutex);
  int result = disk->faulted;
  pthread_mutex_unlock(&disk->mutex);
  return result;
}

void lanyard_disk_set_capacity(lanyard_disk *disk, uint64_t bytes) {
  pthread_mutex_lock(&disk->mutex);
  disk->capacity = bytes;
  pthread_mutex_unlock(&disk->mutex);
}

void lanyard_disk_set_read_only(lanyard_disk *disk, int read_only) {
  pthread_mutex_lock(&disk->mutex);
  disk->read_only = read_only;
  pthread_mutex_unlock(&disk->mutex);
}
