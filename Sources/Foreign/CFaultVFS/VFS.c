// File names: sqlite3_vfs.
#include <stdlib.h>
#include <string.h>

#include "Disk.h"

enum { longest_name = 512 };

static lanyard_disk *disk_of(sqlite3_vfs *vfs) { return vfs->pAppData; }

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out_flags) {
  lanyard_disk *disk = disk_of(vfs);
  handle *file = (handle *)base;
  memset(file, 0, sizeof *file);
  pthread_mutex_lock(&disk->mutex);
  static const char temporary[] = "(temporary)";
  int result = disk->dead ? SQLITE_CANTOPEN : SQLITE_OK;
  node *node = result == SQLITE_OK && name ? disk_find(disk, name) : NULL;
  if (result == SQLITE_OK && !node) {
    if (name && !(flags & SQLITE_OPEN_CREATE)) {
      result = SQLITE_CANTOPEN;
    } else {
      size_t partial;
      result = disk_operation(disk, op_create, 0, &partial);
      if (result == SQLITE_OK) node = disk_create_node(disk, name ? name : temporary);
      disk_die_as_planned(disk);
    }
  } else if (result == SQLITE_OK && (flags & SQLITE_OPEN_CREATE) && (flags & SQLITE_OPEN_EXCLUSIVE)) {
    result = SQLITE_CANTOPEN;
  }
  if (result == SQLITE_OK && disk->read_only) {
    // The unix VFS opens again read-only.
    flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
  }
  if (result == SQLITE_OK) {
    file->base.pMethods = &file_methods;
    file->disk = disk;
    file->node = node;
    file->delete_on_close = !name || (flags & SQLITE_OPEN_DELETEONCLOSE);
    file->next = node->handles;
    node->handles = file;
    node->references++;
    if (out_flags) *out_flags = flags;
  }
  pthread_mutex_unlock(&disk->mutex);
  return result;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync_directory) {
  lanyard_disk *disk = disk_of(vfs);
  pthread_mutex_lock(&disk->mutex);
  int result = SQLITE_IOERR_DELETE;
  node *node = disk_find(disk, name);
  if (!disk->dead && !node) {
    result = SQLITE_IOERR_DELETE_NOENT;
  } else if (node) {
    size_t partial;
    result = disk_operation(disk, op_delete, 0, &partial);
    if (result == SQLITE_OK) disk_unlink(disk, node, sync_directory);
    disk_die_as_planned(disk);
  }
  pthread_mutex_unlock(&disk->mutex);
  return result;
}

static int access_file(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
  lanyard_disk *disk = disk_of(vfs);
  pthread_mutex_lock(&disk->mutex);
  node *node = disk_find(disk, name);
  // The unix VFS also treats an empty file as absent.
  *result = node && (flags != SQLITE_ACCESS_EXISTS || node->seen.size > 0) &&
            !(flags == SQLITE_ACCESS_READWRITE && disk->read_only);
  int dead = disk->dead;
  pthread_mutex_unlock(&disk->mutex);
  return dead ? SQLITE_IOERR_ACCESS : SQLITE_OK;
}

static int full_path(sqlite3_vfs *vfs, const char *name, int capacity, char *path) {
  (void)vfs;
  if (strlen(name) >= (size_t)capacity) return SQLITE_CANTOPEN;
  strcpy(path, name);
  return SQLITE_OK;
}

static int randomness(sqlite3_vfs *vfs, int count, char *bytes) {
  uint64_t state = disk_of(vfs)->operations;
  for (int index = 0; index < count; index++) bytes[index] = (char)disk_random(&state);
  return count;
}

// Sleeping costs no time in a simulation.
static int do_not_sleep(sqlite3_vfs *vfs, int microseconds) {
  (void)vfs;
  return microseconds;
}

static int current_time(sqlite3_vfs *vfs, double *day) {
  (void)vfs;
  *day = 2440587.5;  // 1970: no stored value may depend on SQLite's clock
  return SQLITE_OK;
}

static int last_error(sqlite3_vfs *vfs, int capacity, char *text) {
  (void)vfs, (void)capacity, (void)text;
  return 0;
}

void disk_fill_vfs(lanyard_disk *disk) {
  disk->vfs = (sqlite3_vfs){
      .iVersion = 1,
      .szOsFile = sizeof(handle),
      .mxPathname = longest_name,
      .zName = disk->name,
      .pAppData = disk,
      .xOpen = open_file,
      .xDelete = delete_file,
      .xAccess = access_file,
      .xFullPathname = full_path,
      .xRandomness = randomness,
      .xSleep = do_not_sleep,
      .xCurrentTime = current_time,
      .xGetLastError = last_error,
  };
}
