#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>

int lanyard_deny_dumps(void) {
  struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) < 0) return -errno;
  // This also makes /proc/self belong to root and refuses ptrace (prctl(2)), so another program of this user cannot
  // read the memory that holds tokens. RLIMIT_CORE alone does not stop a core_pattern that is a pipe.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return -errno;
  return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : -EPERM;
}

int lanyard_deny_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0; }

void lanyard_raise_memory_lock_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_MEMLOCK, &limit);
}

bool lanyard_may_lock_memory(size_t count) {
  void *memory = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  bool may = mlock2(memory, count, MLOCK_ONFAULT) == 0;
  munmap(memory, count);
  return may;
}

uint64_t lanyard_raise_descriptor_limit(uint64_t count) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return 0;
  if (limit.rlim_cur >= count) return limit.rlim_cur;
  rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max < count ? limit.rlim_max : count;
  return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? before : limit.rlim_cur;
}

int lanyard_ignore_sigpipe(void) { return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -errno : 0; }

int lanyard_random(void *bytes, size_t count) {
  unsigned char *target = bytes;
  while (count > 0) {
    ssize_t got = getrandom(target, count, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      return -errno;
    }
    target += got;
    count -= (size_t)got;
  }
  return 0;
}
