// Preloaded into a program (ld.so(8)): its wall clock is the machine's, set by as many seconds as a file says. The boot
// clock stays as it is, as when a person sets the time.
//
//     LANYARD_CLOCK_SHIFT   the file: "-259200"; read at each look at the clock; none: nothing is shifted
//     LANYARD_CLOCK_SEEN    a file that is made at the first look, so that a test knows that this is what is looked at
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void) {
  const char *path = getenv("LANYARD_CLOCK_SHIFT"), *seen = getenv("LANYARD_CLOCK_SEEN");
  int saved = errno;
  char text[32] = {0};
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd >= 0) {
    if (read(fd, text, sizeof text - 1) < 0) text[0] = 0;
    close(fd);
  }
  if (seen && (fd = open(seen, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) >= 0) close(fd);
  errno = saved;
  return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
  return result;
}

int gettimeofday(struct timeval *now, void *zone) {
  (void)zone;
  struct timespec precise;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
