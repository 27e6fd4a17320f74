// Preloaded into a program (ld.so(8)): counts what it writes under certain directories, and at one of these calls ends
// it, or fails it and those that follow.
//
//     LANYARD_FAULT_UNDER   directories, colon-separated: calls on files elsewhere pass untouched
//     LANYARD_FAULT_PLAN    a file that a test makes when counting shall begin, and removes when it shall end:
//                           "12 before", "12 torn", "12 after": SIGKILL at the twelfth call from now;
//                           "12 ENOSPC", "12 EIO", "12 EROFS", "12 EACCES": from the twelfth on, calls fail; with
//                           "once" before the name ("12 onceEIO"), the twelfth alone; "0 count": nothing goes wrong
//     LANYARD_FAULT_ALL     if set, calls are counted too that write nothing: opening, reading, locking, mapping
//     LANYARD_FAULT_COUNT   a file that gets a line for each call that was counted
//
// Only what goes through libc's exported functions is seen; the tests check that this is what happens.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long number;   // of the calls since counting began
static long planned;  // at which it happens
static char how[16];  // before, torn, after, an errno's name, count; empty: nothing is planned

// A verdict below zero is an errno, negative.
enum verdict { PASS, TEAR, DIE_AFTER };

static int named_error(const char *name) {
  if (strcmp(name, "ENOSPC") == 0) return ENOSPC;
  if (strcmp(name, "EIO") == 0) return EIO;
  if (strcmp(name, "EROFS") == 0) return EROFS;
  if (strcmp(name, "EACCES") == 0) return EACCES;
  return 0;
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static int is_watched(const char *path) {
  const char *under = getenv("LANYARD_FAULT_UNDER");
  while (under && *under) {
    size_t length = strcspn(under, ":");
    if (length && strncmp(path, under, length) == 0 && (path[length] == '/' || !path[length])) return 1;
    under += length + (under[length] == ':');
  }
  return 0;
}

static void read_plan(void) {
  char text[64] = {0};
  const char *path = getenv("LANYARD_FAULT_PLAN");
  int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) {
    how[0] = 0;
    return;
  }
  ssize_t count = syscall(SYS_read, fd, text, sizeof text - 1);
  close(fd);
  if (how[0] || count <= 0) return;
  number = 0;
  if (sscanf(text, "%ld %15s", &planned, how) != 2) how[0] = 0;
}

static void note(const char *call, const char *path) {
  char line[512];
  const char *to = getenv("LANYARD_FAULT_COUNT"), *name = strrchr(path, '/');
  int length = snprintf(line, sizeof line, "%ld %s %s\n", number, call, name ? name + 1 : path);
  int fd = to ? (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (fd < 0) return;
  syscall(SYS_write, fd, line, (size_t)length);
  close(fd);
}

static int judge(const char *call, const char *path) {
  int verdict = PASS;
  int saved = errno;
  if (is_watched(path)) {
    pthread_mutex_lock(&lock);
    read_plan();
    if (how[0]) {
      number++;
      note(call, path);
      if (number == planned && strcmp(how, "before") == 0) die();
      if (number == planned && strcmp(how, "torn") == 0) verdict = TEAR;
      if (number == planned && strcmp(how, "after") == 0) verdict = DIE_AFTER;
      // A disk that fails for good fails no locks: those are the kernel's, and SQLite waits ten seconds for each.
      if (number >= planned && named_error(how) && strcmp(call, "lock")) verdict = -named_error(how);
      if (number == planned && strncmp(how, "once", 4) == 0) verdict = -named_error(how + 4);
    }
    pthread_mutex_unlock(&lock);
  }
  errno = saved;
  return verdict;
}

// A file without a name (O_TMPFILE) has the path of its directory here, too.
static int judge_fd(const char *call, int fd) {
  char link[40], path[4096];
  int saved = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (length <= 0) return PASS;
  path[length] = 0;
  return judge(call, path);
}

static int judge_at(const char *call, int directory, const char *name) {
  char link[40], path[8192];
  if (name[0] == '/') return judge(call, name);
  int saved = errno;
  if (directory == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
  else snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  ssize_t length = readlink(link, path, 4095);
  errno = saved;
  if (length <= 0) return PASS;
  snprintf(path + length, sizeof path - (size_t)length, "/%s", name);
  return judge(call, path);
}

#define ORIGINAL(name) \
  static __typeof__(name) *original; \
  if (!original) original = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define FAIL_IF_PLANNED(v) \
  if ((v) < 0) return errno = -(v), -1

// Calls that write a number of bytes can be torn: they write half of them, then the process ends.
#define WRITING(judged, whole, half) \
  do { \
    int v = (judged); \
    FAIL_IF_PLANNED(v); \
    if (v == TEAR) { \
      (void)!(half); \
      die(); \
    } \
    ssize_t result = (whole); \
    if (v == DIE_AFTER) die(); \
    return result; \
  } while (0)

#define DOING(judged, whole) \
  do { \
    int v = (judged); \
    FAIL_IF_PLANNED(v); \
    if (v == TEAR) die(); \
    int result = (whole); \
    if (v == DIE_AFTER) die(); \
    return result; \
  } while (0)

ssize_t write(int fd, const void *bytes, size_t count) {
  ORIGINAL(write);
  WRITING(judge_fd("write", fd), original(fd, bytes, count), original(fd, bytes, count / 2));
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
  ORIGINAL(pwrite);
  WRITING(judge_fd("pwrite", fd), original(fd, bytes, count, at), original(fd, bytes, count / 2, at));
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  ORIGINAL(pwrite64);
  WRITING(judge_fd("pwrite", fd), original(fd, bytes, count, at), original(fd, bytes, count / 2, at));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  ORIGINAL(writev);
  WRITING(judge_fd("writev", fd), original(fd, parts, count), original(fd, parts, count / 2));
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  ORIGINAL(pwritev);
  WRITING(judge_fd("pwritev", fd), original(fd, parts, count, at), original(fd, parts, count / 2, at));
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
  ORIGINAL(pwritev64);
  WRITING(judge_fd("pwritev", fd), original(fd, parts, count, at), original(fd, parts, count / 2, at));
}

int fsync(int fd) {
  ORIGINAL(fsync);
  DOING(judge_fd("fsync", fd), original(fd));
}

int fdatasync(int fd) {
  ORIGINAL(fdatasync);
  DOING(judge_fd("fdatasync", fd), original(fd));
}

int ftruncate(int fd, off_t length) {
  ORIGINAL(ftruncate);
  DOING(judge_fd("ftruncate", fd), original(fd, length));
}

int ftruncate64(int fd, off64_t length) {
  ORIGINAL(ftruncate64);
  DOING(judge_fd("ftruncate", fd), original(fd, length));
}

int rename(const char *from, const char *to) {
  ORIGINAL(rename);
  DOING(judge("rename", to), original(from, to));
}

int renameat(int from_directory, const char *from, int to_directory, const char *to) {
  ORIGINAL(renameat);
  DOING(judge_at("rename", to_directory, to), original(from_directory, from, to_directory, to));
}

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
  ORIGINAL(linkat);
  DOING(judge_at("link", to_directory, to), original(from_directory, from, to_directory, to, flags));
}

int unlink(const char *path) {
  ORIGINAL(unlink);
  DOING(judge("unlink", path), original(path));
}

int unlinkat(int directory, const char *name, int flags) {
  ORIGINAL(unlinkat);
  DOING(judge_at("unlink", directory, name), original(directory, name, flags));
}

// Calls that write nothing: they can fail without another effect.

static int all_are_counted(void) { return getenv("LANYARD_FAULT_ALL") != NULL; }

#define LOOKING(judged, whole) \
  do { \
    int v = all_are_counted() ? (judged) : PASS; \
    FAIL_IF_PLANNED(v); \
    return (whole); \
  } while (0)

ssize_t read(int fd, void *bytes, size_t count) {
  ORIGINAL(read);
  LOOKING(judge_fd("read", fd), original(fd, bytes, count));
}

ssize_t pread(int fd, void *bytes, size_t count, off_t at) {
  ORIGINAL(pread);
  LOOKING(judge_fd("pread", fd), original(fd, bytes, count, at));
}

ssize_t pread64(int fd, void *bytes, size_t count, off64_t at) {
  ORIGINAL(pread64);
  LOOKING(judge_fd("pread", fd), original(fd, bytes, count, at));
}

static mode_t mode_of(int flags, va_list list) {
  return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;
}

#define WITH_MODE(flags) \
  va_list list; \
  va_start(list, flags); \
  mode_t mode = mode_of(flags, list); \
  va_end(list)

int open(const char *path, int flags, ...) {
  WITH_MODE(flags);
  LOOKING(judge_at("open", AT_FDCWD, path), (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int open64(const char *path, int flags, ...) {
  WITH_MODE(flags);
  LOOKING(judge_at("open", AT_FDCWD, path), (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int openat(int directory, const char *path, int flags, ...) {
  WITH_MODE(flags);
  LOOKING(judge_at("open", directory, path), (int)syscall(SYS_openat, directory, path, flags, mode));
}

int openat64(int directory, const char *path, int flags, ...) {
  WITH_MODE(flags);
  LOOKING(judge_at("open", directory, path), (int)syscall(SYS_openat, directory, path, flags, mode));
}

// Letting a lock go does not fail.
static int is_lock(int command, const void *lock) {
  return (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW) &&
         ((const struct flock *)lock)->l_type != F_UNLCK;
}

int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  LOOKING(is_lock(command, argument) ? judge_fd("lock", fd) : PASS, (int)syscall(SYS_fcntl, fd, command, argument));
}

int fcntl64(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  LOOKING(is_lock(command, argument) ? judge_fd("lock", fd) : PASS, (int)syscall(SYS_fcntl, fd, command, argument));
}

static void *map(void *at, size_t length, int protection, int flags, int fd, off64_t offset) {
  int v = all_are_counted() && fd >= 0 ? judge_fd("map", fd) : PASS;
  if (v < 0) {
    errno = -v;
    return MAP_FAILED;
  }
  return (void *)syscall(SYS_mmap, at, length, protection, flags, fd, offset);
}

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
  return map(at, length, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset) {
  return map(at, length, protection, flags, fd, offset);
}
