// Copies of a whole disk, and access to its bytes for scanning and damaging.
#include <stdlib.h>
#include <string.h>

#include "Disk.h"

struct lanyard_snapshot {
  size_t count;
  struct {
    char *name;
    image image;
  } files[];
};

static size_t count_nodes(lanyard_disk *disk) {
  size_t count = 0;
  for (node *node = disk->nodes; node; node = node->next) count++;
  return count;
}

static void copy_image(image *target, const image *source) {
  image_resize(target, 0);
  image_resize(target, source->size);
  if (source->size) memcpy(target->bytes, source->bytes, source->size);
}

lanyard_snapshot *lanyard_disk_snapshot(lanyard_disk *disk) {
  pthread_mutex_lock(&disk->mutex);
  size_t count = count_nodes(disk);
  lanyard_snapshot *snapshot = calloc(1, sizeof *snapshot + count * sizeof snapshot->files[0]);
  if (!snapshot) abort();
  for (node *node = disk->nodes; node; node = node->next) {
    snapshot->files[snapshot->count].name = strdup(node->name);
    copy_image(&snapshot->files[snapshot->count++].image, &node->seen);
  }
  pthread_mutex_unlock(&disk->mutex);
  return snapshot;
}

void lanyard_disk_restore(lanyard_disk *disk, const lanyard_snapshot *snapshot) {
  pthread_mutex_lock(&disk->mutex);
  disk_detach_handles(disk);
  while (disk->nodes) disk_unlink(disk, disk->nodes, 1);
  while (disk->unlinked) {
    node *gone = disk->unlinked;
    disk->unlinked = gone->next;
    node_release(gone);
  }
  for (size_t index = 0; index < snapshot->count; index++) {
    node *node = disk_create_node(disk, snapshot->files[index].name);
    node->name_on_medium = 1;
    copy_image(&node->seen, &snapshot->files[index].image);
    copy_image(&node->medium, &snapshot->files[index].image);
  }
  disk->dead = 0;
  disk->faulted = 0;
  disk->fault = LANYARD_FAULT_NONE;
  pthread_mutex_unlock(&disk->mutex);
}

void lanyard_snapshot_destroy(lanyard_snapshot *snapshot) {
  for (size_t index = 0; index < snapshot->count; index++) {
    free(snapshot->files[index].name);
    image_free(&snapshot->files[index].image);
  }
  free(snapshot);
}

size_t lanyard_disk_file_count(lanyard_disk *disk) {
  pthread_mutex_lock(&disk->mutex);
  size_t count = count_nodes(disk);
  pthread_mutex_unlock(&disk->mutex);
  return count;
}

const char *lanyard_disk_file_name(lanyard_disk *disk, size_t index) {
  pthread_mutex_lock(&disk->mutex);
  node *node = disk->nodes;
  while (node && index-- > 0) node = node->next;
  const char *name = node ? node->name : NULL;
  pthread_mutex_unlock(&disk->mutex);
  return name;
}

size_t lanyard_disk_file_size(lanyard_disk *disk, const char *name) {
  pthread_mutex_lock(&disk->mutex);
  node *node = disk_find(disk, name);
  size_t size = node ? node->seen.size : 0;
  pthread_mutex_unlock(&disk->mutex);
  return size;
}

size_t lanyard_disk_file_read(lanyard_disk *disk, const char *name, size_t offset, void *bytes, size_t count) {
  pthread_mutex_lock(&disk->mutex);
  node *node = disk_find(disk, name);
  size_t size = node ? node->seen.size : 0;
  size_t available = offset < size ? size - offset : 0;
  if (count > available) count = available;
  if (count) memcpy(bytes, node->seen.bytes + offset, count);
  pthread_mutex_unlock(&disk->mutex);
  return count;
}

void lanyard_disk_file_write(
    lanyard_disk *disk, const char *name, size_t offset, const void *bytes, size_t count) {
  pthread_mutex_lock(&disk->mutex);
  node *node = disk_find(disk, name);
  if (!node) node = disk_create_node(disk, name);
  node->name_on_medium = 1;
  image *images[2] = {&node->seen, &node->medium};
  for (int index = 0; index < 2; index++) {
    if (offset + count > images[index]->size) image_resize(images[index], offset + count);
    if (count) memcpy(images[index]->bytes + offset, bytes, count);
  }
  pthread_mutex_unlock(&disk->mutex);
}
