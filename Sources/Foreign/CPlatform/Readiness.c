#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

int lanyard_readiness(void) {
  int fd = epoll_create1(EPOLL_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

// epoll's values of these four flags equal poll's (epoll_ctl(2)), so callers use POLLIN and POLLOUT.
_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR && EPOLLHUP == POLLHUP, "poll's bits");

int lanyard_readiness_add(int set, int fd, short events, uint64_t token) {
  struct epoll_event event = {.events = (uint32_t)events, .data.u64 = token};
  return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int lanyard_readiness_change(int set, int fd, short events, uint64_t token) {
  struct epoll_event event = {.events = (uint32_t)events, .data.u64 = token};
  return epoll_ctl(set, EPOLL_CTL_MOD, fd, &event) < 0 ? -errno : 0;
}

void lanyard_readiness_remove(int set, int fd) { epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL); }

int lanyard_readiness_wait(int set, struct lanyard_ready *ready, int capacity, int timeout_milliseconds) {
  struct epoll_event events[64];
  if (capacity > 64) capacity = 64;
  int count = epoll_wait(set, events, capacity, timeout_milliseconds);
  if (count < 0) return -errno;
  for (int i = 0; i < count; i++) {
    ready[i].token = events[i].data.u64;
    ready[i].events = (short)events[i].events;
  }
  return count;
}
