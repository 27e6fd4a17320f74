// Declarations that the files of this target share.
#pragma once

#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>

#include "CFaultVFS.h"

enum { sector_bytes = 512 };

typedef struct image {
  uint8_t *bytes;
  size_t size, capacity;
} image;

typedef struct shared_memory shared_memory;
typedef struct handle handle;

typedef struct node {
  struct node *next;
  char *name;
  image seen;    // the running system's view
  image medium;  // what survives a power loss
  uint8_t *dirty;  // a byte for each sector: written since the last sync
  size_t dirty_sectors;
  int name_on_medium;
  int references;  // open handles, plus one while it has a name
  handle *handles;
  shared_memory *shared;
} node;

struct lanyard_disk {
  sqlite3_vfs vfs;
  char *name;
  pthread_mutex_t mutex;
  node *nodes;
  node *unlinked;  // deletions that a power loss may undo
  uint64_t operations, syncs;
  lanyard_fault fault;
  lanyard_failure failure;
  uint64_t fault_at, seed;
  int faulted, dead, read_only;
  uint64_t capacity;
};

// An open file. `node` is null once its process is dead.
struct handle {
  sqlite3_file base;
  lanyard_disk *disk;
  node *node;
  handle *next;
  int lock_level;
  shared_memory *shared;
  uint16_t shared_locks, exclusive_locks;
  int delete_on_close;
};

typedef enum operation { op_create, op_write, op_truncate, op_sync, op_delete } operation;

// Counts an operation and applies the plan. SQLITE_OK: perform it. Otherwise the code to fail with; a write must still
// write the first `*partial` of its `count` bytes.
int disk_operation(lanyard_disk *disk, operation kind, size_t count, size_t *partial);
// Called after an operation: kills the process or loses the power if the plan says so.
void disk_die_as_planned(lanyard_disk *disk);
uint64_t disk_random(uint64_t *state);
uint64_t disk_used(lanyard_disk *disk);

node *disk_find(lanyard_disk *disk, const char *name);
node *disk_create_node(lanyard_disk *disk, const char *name);
void disk_unlink(lanyard_disk *disk, node *node, int durable);
void node_release(node *node);
void node_write(node *node, size_t offset, const void *bytes, size_t count);
void node_resize(node *node, size_t size);
void node_sync(lanyard_disk *disk, node *node);
void node_fail_sync(lanyard_disk *disk, node *node);
void node_forget_dirty(node *node);
void image_resize(image *image, size_t size);
void image_free(image *image);

void disk_detach_handles(lanyard_disk *disk);
void disk_fill_vfs(lanyard_disk *disk);
extern const sqlite3_io_methods file_methods;

int shared_memory_map(sqlite3_file *file, int region, int size, int extend, void volatile **memory);
int shared_memory_lock(sqlite3_file *file, int offset, int count, int flags);
void shared_memory_barrier(sqlite3_file *file);
int shared_memory_unmap(sqlite3_file *file, int delete);
