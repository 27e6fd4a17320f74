#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <time.h>
#include <sys/signalfd.h>
#include <unistd.h>

int lanyard_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : 0; }

ssize_t lanyard_splice(int source, int target, size_t count) {
  ssize_t moved;
  do {
    moved = splice(source, NULL, target, NULL, count, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  } while (moved < 0 && errno == EINTR);
  return moved < 0 ? -errno : moved;
}

int lanyard_eventfd(void) {
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return fd < 0 ? -errno : fd;
}

void lanyard_eventfd_signal(int fd) {
  uint64_t one = 1;
  int saved = errno;
  // EAGAIN means that the counter is full, so the poller is awake already.
  while (write(fd, &one, sizeof one) < 0 && errno == EINTR) {
  }
  errno = saved;
}

int lanyard_eventfd_drain(int fd) {
  uint64_t count = 0;
  ssize_t result;
  do {
    result = read(fd, &count, sizeof count);
  } while (result < 0 && errno == EINTR);
  return result == sizeof count && count > 0;
}

int lanyard_signalfd(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  // A shell starts background programs with SIGINT ignored, and an ignored signal reaches no signalfd.
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  int blocked = pthread_sigmask(SIG_BLOCK, &signals, NULL);
  if (blocked) return -blocked;
  int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  return fd < 0 ? -errno : fd;
}

int lanyard_signalfd_read(int fd) {
  struct signalfd_siginfo info;
  ssize_t result;
  do {
    result = read(fd, &info, sizeof info);
  } while (result < 0 && errno == EINTR);
  return result == sizeof info ? (int)info.ssi_signo : 0;
}

int lanyard_child_signalfd(void) {
  static const int passed_on[] = {SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};
  sigset_t signals;
  sigemptyset(&signals);
  for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) sigaddset(&signals, passed_on[i]);
  int blocked = pthread_sigmask(SIG_BLOCK, &signals, NULL);
  if (blocked) return -blocked;
  int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  return fd < 0 ? -errno : fd;
}

int lanyard_child_signalfd_read(int fd, int *is_from_program) {
  struct signalfd_siginfo info;
  ssize_t result;
  do {
    result = read(fd, &info, sizeof info);
  } while (result < 0 && errno == EINTR);
  if (result != sizeof info) return 0;
  // What a terminal sends has SI_KERNEL, which is positive; kill(2) and its kin have none that is.
  *is_from_program = info.ssi_code <= 0;
  return (int)info.ssi_signo;
}

void lanyard_signals_unblock(void) {
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, NULL);
}

int lanyard_boot_timer(void) {
  int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  return fd < 0 ? -errno : fd;
}

void lanyard_boot_timer_set(int fd, int64_t deadline_milliseconds) {
  struct itimerspec when = {0};
  when.it_value.tv_sec = deadline_milliseconds / 1000;
  when.it_value.tv_nsec = deadline_milliseconds % 1000 * 1000000;
  timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/// A hundred years from now: only the cancelling of this timer matters.
static int arm_far_away(int fd) {
  struct itimerspec when = {0};
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  when.it_value.tv_sec = now.tv_sec + 3155760000LL;
  return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL) < 0 ? -errno : 0;
}

int lanyard_wall_watch(void) {
  int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (fd < 0) return -errno;
  int failed = arm_far_away(fd);
  if (failed == 0 || failed == -ECANCELED) return fd;
  close(fd);
  return failed;
}

int lanyard_wall_watch_drain(int fd) {
  uint64_t count = 0;
  ssize_t result;
  do {
    result = read(fd, &count, sizeof count);
  } while (result < 0 && errno == EINTR);
  int was_set = result >= 0 || errno == ECANCELED;
  // If the clock was set again between the read and this, the timer is armed all the same, and both are one change.
  if (arm_far_away(fd) == -ECANCELED) was_set = 1;
  return was_set;
}

static int watch(const char *path, uint32_t events) {
  int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (fd < 0) return -errno;
  if (inotify_add_watch(fd, path, events) < 0) {
    int error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

int lanyard_watch_directory(const char *path) {
  return watch(path, IN_MODIFY | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR | IN_DONT_FOLLOW);
}

int lanyard_watch_file(const char *path) { return watch(path, IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF); }

int lanyard_watch_drain(int fd) {
  char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
  int changed = 0;
  while (read(fd, events, sizeof events) > 0) changed = 1;
  return changed;
}
