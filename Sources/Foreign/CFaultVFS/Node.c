// Files with two images: the running system's view, and the medium.
#include <stdlib.h>
#include <string.h>

#include "Disk.h"

void image_resize(image *image, size_t size) {
  if (size > image->capacity) {
    size_t capacity = image->capacity ? image->capacity : 4096;
    while (capacity < size) capacity *= 2;
    image->bytes = realloc(image->bytes, capacity);
    if (!image->bytes) abort();
    image->capacity = capacity;
  }
  if (size > image->size) memset(image->bytes + image->size, 0, size - image->size);
  image->size = size;
}

void image_free(image *image) {
  free(image->bytes);
  memset(image, 0, sizeof *image);
}

static void mark_dirty(node *node, size_t offset, size_t count) {
  if (count == 0) return;
  size_t first = offset / sector_bytes, end = (offset + count - 1) / sector_bytes + 1;
  if (end > node->dirty_sectors) {
    size_t sectors = node->dirty_sectors ? node->dirty_sectors : 64;
    while (sectors < end) sectors *= 2;
    node->dirty = realloc(node->dirty, sectors);
    if (!node->dirty) abort();
    memset(node->dirty + node->dirty_sectors, 0, sectors - node->dirty_sectors);
    node->dirty_sectors = sectors;
  }
  memset(node->dirty + first, 1, end - first);
}

void node_forget_dirty(node *node) {
  if (node->dirty) memset(node->dirty, 0, node->dirty_sectors);
}

void node_write(node *node, size_t offset, const void *bytes, size_t count) {
  if (count == 0) return;
  size_t old = node->seen.size;
  if (offset + count > old) image_resize(&node->seen, offset + count);
  if (offset > old) mark_dirty(node, old, offset - old);
  memcpy(node->seen.bytes + offset, bytes, count);
  mark_dirty(node, offset, count);
}

void node_resize(node *node, size_t size) {
  size_t old = node->seen.size;
  image_resize(&node->seen, size);
  if (size > old) mark_dirty(node, old, size - old);
}

// Copies one sector to the medium, which is already as long as the seen image.
static void carry(node *node, size_t sector) {
  size_t offset = sector * sector_bytes;
  if (offset >= node->seen.size) return;
  size_t count = node->seen.size - offset < sector_bytes ? node->seen.size - offset : sector_bytes;
  memcpy(node->medium.bytes + offset, node->seen.bytes + offset, count);
}

void node_sync(lanyard_disk *disk, node *node) {
  image_resize(&node->medium, node->seen.size);
  for (size_t sector = 0; sector < node->dirty_sectors; sector++)
    if (node->dirty[sector]) carry(node, sector);
  node_forget_dirty(node);
  if (!node->name_on_medium) {
    // SQLite syncs the directory of a file that it has just created, which also makes earlier deletions durable.
    node->name_on_medium = 1;
    while (disk->unlinked) {
      struct node *gone = disk->unlinked;
      disk->unlinked = gone->next;
      node_release(gone);
    }
  }
}

// A failed sync: the running system's view stays, each dirty sector reaches the medium or not by the seed, and no later
// sync writes them again.
void node_fail_sync(lanyard_disk *disk, node *node) {
  uint64_t random = disk->seed;
  image_resize(&node->medium, node->seen.size);
  for (size_t sector = 0; sector < node->dirty_sectors; sector++)
    if (node->dirty[sector] && (disk_random(&random) & 1)) carry(node, sector);
  node_forget_dirty(node);
}

void node_release(node *node) {
  if (--node->references > 0) return;
  image_free(&node->seen);
  image_free(&node->medium);
  free(node->dirty);
  free(node->name);
  free(node);
}
