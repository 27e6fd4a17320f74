#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int result_of(int fd) { return fd < 0 ? -errno : fd; }

int lanyard_open_directory(const char *path) {
  return result_of(open(path, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC));
}

int lanyard_open_directory_for_sync(const char *path) {
  return result_of(open(path, O_RDONLY | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC));
}

int lanyard_memory_file(const char *name) { return result_of(memfd_create(name, MFD_CLOEXEC)); }

int lanyard_open_name(int directory, const char *name) {
  return result_of(openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

bool lanyard_identify(const char *path, struct lanyard_file_identity *identity) {
  struct statx found;
  if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO, &found) != 0) {
    // A filter of system calls may refuse this one (EPERM), where glibc does not fall back.
    struct stat status;
    if (errno == ENOENT || errno == ENOTDIR || lstat(path, &status) != 0) return false;
    *identity = (struct lanyard_file_identity){status.st_dev, status.st_ino};
    return true;
  }
  *identity = (struct lanyard_file_identity){makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino};
  return true;
}

int lanyard_lock_file(int fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return 0;
  return errno == EACCES ? -EAGAIN : -errno;
}

bool lanyard_file_is_locked(int fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int lanyard_lock_directory(int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
  return errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

int lanyard_is_same_file(int fd, const char *path) {
  struct stat open_file, named_file;
  return fstat(fd, &open_file) == 0 && lstat(path, &named_file) == 0 && open_file.st_dev == named_file.st_dev &&
         open_file.st_ino == named_file.st_ino;
}

int lanyard_open_unnamed(int directory) {
  return result_of(openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
}

int lanyard_name_file(int file, int directory, const char *name) {
  // Through /proc, which needs no privilege (openat(2), O_TMPFILE).
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

int lanyard_rename_new(int directory, const char *name, const char *new_name) {
  if (renameat2(directory, name, directory, new_name, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -errno;
  // For a file system without this flag: link(2) gives a second name and never replaces a file.
  if (linkat(directory, name, directory, new_name, 0) < 0) return -errno;
  return unlinkat(directory, name, 0) < 0 ? -errno : 0;
}
