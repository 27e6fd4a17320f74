#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static int64_t milliseconds(clockid_t clock) {
  struct timespec now = {0};
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t lanyard_boot_milliseconds(void) { return milliseconds(CLOCK_BOOTTIME); }
int64_t lanyard_wall_milliseconds(void) { return milliseconds(CLOCK_REALTIME); }

int lanyard_boot_id(char text[37]) {
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  ssize_t length = read(fd, text, 36);
  int result = length < 0 ? -errno : length == 36 ? 0 : -EINVAL;
  close(fd);
  text[result == 0 ? 36 : 0] = 0;
  return result;
}
