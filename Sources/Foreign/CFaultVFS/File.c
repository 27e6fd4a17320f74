// An open file: sqlite3_io_methods.
#include <string.h>

#include "Disk.h"

static int close_file(sqlite3_file *base) {
  handle *file = (handle *)base;
  shared_memory_unmap(base, 0);
  pthread_mutex_lock(&file->disk->mutex);
  node *node = file->node;
  if (node) {
    handle **link = &node->handles;
    while (*link != file) link = &(*link)->next;
    *link = file->next;
    if (file->delete_on_close && disk_find(file->disk, node->name) == node) disk_unlink(file->disk, node, 1);
    node_release(node);
  }
  pthread_mutex_unlock(&file->disk->mutex);
  return SQLITE_OK;
}

static int read_file(sqlite3_file *base, void *bytes, int count, sqlite3_int64 offset) {
  handle *file = (handle *)base;
  pthread_mutex_lock(&file->disk->mutex);
  int result = SQLITE_IOERR_READ;
  if (file->node && !file->disk->dead) {
    size_t size = file->node->seen.size;
    size_t available = (size_t)offset < size ? size - (size_t)offset : 0;
    if (available > (size_t)count) available = (size_t)count;
    if (available) memcpy(bytes, file->node->seen.bytes + offset, available);
    memset((char *)bytes + available, 0, (size_t)count - available);
    result = available == (size_t)count ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
  }
  pthread_mutex_unlock(&file->disk->mutex);
  return result;
}

static int write_file(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
  handle *file = (handle *)base;
  lanyard_disk *disk = file->disk;
  pthread_mutex_lock(&disk->mutex);
  int result = SQLITE_IOERR_WRITE;
  if (file->node) {
    size_t partial;
    result = disk_operation(disk, op_write, (size_t)count, &partial);
    size_t end = (size_t)offset + (size_t)count, size = file->node->seen.size;
    if (result == SQLITE_OK && end > size && disk_used(disk) + (end - size) > disk->capacity) result = SQLITE_FULL;
    if (!disk->dead) node_write(file->node, (size_t)offset, bytes, result == SQLITE_OK ? (size_t)count : partial);
    disk_die_as_planned(disk);
  }
  pthread_mutex_unlock(&disk->mutex);
  return result;
}

static int truncate_file(sqlite3_file *base, sqlite3_int64 size) {
  handle *file = (handle *)base;
  pthread_mutex_lock(&file->disk->mutex);
  int result = SQLITE_IOERR_TRUNCATE;
  if (file->node) {
    size_t partial;
    result = disk_operation(file->disk, op_truncate, 0, &partial);
    if (result == SQLITE_OK) node_resize(file->node, (size_t)size);
    disk_die_as_planned(file->disk);
  }
  pthread_mutex_unlock(&file->disk->mutex);
  return result;
}

static int sync_file(sqlite3_file *base, int flags) {
  (void)flags;
  handle *file = (handle *)base;
  pthread_mutex_lock(&file->disk->mutex);
  int result = SQLITE_IOERR_FSYNC;
  if (file->node) {
    size_t partial;
    result = disk_operation(file->disk, op_sync, 0, &partial);
    if (result == SQLITE_OK) node_sync(file->disk, file->node);
    if (result == SQLITE_IOERR_FSYNC) node_fail_sync(file->disk, file->node);
    disk_die_as_planned(file->disk);
  }
  pthread_mutex_unlock(&file->disk->mutex);
  return result;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size) {
  handle *file = (handle *)base;
  pthread_mutex_lock(&file->disk->mutex);
  int result = file->node && !file->disk->dead ? SQLITE_OK : SQLITE_IOERR_FSTAT;
  *size = file->node ? (sqlite3_int64)file->node->seen.size : 0;
  pthread_mutex_unlock(&file->disk->mutex);
  return result;
}

static int lock_file(sqlite3_file *base, int level) {
  handle *file = (handle *)base;
  pthread_mutex_lock(&file->disk->mutex);
  int result = file->node && !file->disk->dead ? SQLITE_OK : SQLITE_IOERR_LOCK;
  if (result == SQLITE_OK && level > file->lock_level) {
    for (handle *other = file->node->handles; other; other = other->next) {
      if (other == file) continue;
      if (level == SQLITE_LOCK_SHARED && other->lock_level >= SQLITE_LOCK_PENDING) result = SQLITE_BUSY;
      if (level == SQLITE_LOCK_RESERVED && other->lock_level >= SQLITE_LOCK_RESERVED) result = SQLITE_BUSY;
      if (level == SQLITE_LOCK_EXCLUSIVE && other->lock_level >= SQLITE_LOCK_SHARED) result = SQLITE_BUSY;
    }
    if (result == SQLITE_OK) file->lock_level = level;
  }
  pthread_mutex_unlock(&file->disk->mutex);
  return result;
}

static int unlock_file(sqlite3_file *base, int level) {
  handle *file = (handle *)base;
  pthread_mutex_lock(&file->disk->mutex);
  if (file->lock_level > level) file->lock_level = level;
  pthread_mutex_unlock(&file->disk->mutex);
  return SQLITE_OK;
}

static int check_reserved_lock(sqlite3_file *base, int *reserved) {
  handle *file = (handle *)base;
  pthread_mutex_lock(&file->disk->mutex);
  *reserved = 0;
  for (handle *other = file->node ? file->node->handles : NULL; other; other = other->next)
    if (other->lock_level >= SQLITE_LOCK_RESERVED) *reserved = 1;
  pthread_mutex_unlock(&file->disk->mutex);
  return SQLITE_OK;
}

static int control_file(sqlite3_file *base, int operation, void *argument) {
  (void)base, (void)operation, (void)argument;
  return SQLITE_NOTFOUND;
}

static int bytes_of_sector(sqlite3_file *base) {
  (void)base;
  return sector_bytes;
}

// The unix VFS claims the same: writing a sector does not damage its neighbours.
static int characteristics(sqlite3_file *base) {
  (void)base;
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = file_size,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = control_file,
    .xSectorSize = bytes_of_sector,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = shared_memory_map,
    .xShmLock = shared_memory_lock,
    .xShmBarrier = shared_memory_barrier,
    .xShmUnmap = shared_memory_unmap,
};

void disk_detach_handles(lanyard_disk *disk) {
  node *lists[2] = {disk->nodes, disk->unlinked};
  for (int index = 0; index < 2; index++)
    for (node *node = lists[index]; node; node = node->next) {
      node->shared = NULL;  // lives on for the handles that map it
      while (node->handles) {
        handle *file = node->handles;
        node->handles = file->next;
        file->node = NULL;
        file->next = NULL;
        node->references--;
      }
    }
}
