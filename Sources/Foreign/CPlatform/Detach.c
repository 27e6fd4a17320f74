#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// The child moves the descriptors that it still needs above this number while it sets up the low ones.
enum { safe_from = 16, passed_target = 3 };

// Runs after fork in a process that may have had threads: only async-signal-safe calls, no allocation.
static void become(
    const char *path, char *const argv[], char *const envp[], int error_output, int passed, int failure_pipe) {
  int report = fcntl(failure_pipe, F_DUPFD_CLOEXEC, safe_from);
  int output = error_output < 0 ? -1 : fcntl(error_output, F_DUPFD_CLOEXEC, safe_from);
  int handed = passed < 0 ? -1 : fcntl(passed, F_DUPFD_CLOEXEC, safe_from);
  int opened = open("/dev/null", O_RDWR | O_CLOEXEC);
  int null = opened < 0 ? -1 : fcntl(opened, F_DUPFD_CLOEXEC, safe_from);
  if (report < 0 || null < 0 || (error_output >= 0 && output < 0) || (passed >= 0 && handed < 0)) goto failed;
  if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(output < 0 ? null : output, 2) < 0) goto failed;
  if (handed >= 0 && dup2(handed, passed_target) < 0) goto failed;
  // Marks descriptors 3 (or 4) and up close-on-exec in one call, or one by one before Linux 5.11.
  int first = handed >= 0 ? passed_target + 1 : passed_target;
  if (syscall(SYS_close_range, first, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */) < 0) {
    long limit = sysconf(_SC_OPEN_MAX);
    for (int fd = first; fd < (limit > 0 && limit < 65536 ? limit : 65536); fd++)
      if (fd != report) fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  lanyard_signals_unblock();
  umask(077);
  if (chdir("/") < 0) goto failed;
  execve(path, argv, envp);
failed:;
  int reason = errno;
  ssize_t ignored = write(report >= 0 ? report : failure_pipe, &reason, sizeof reason);
  (void)ignored;
  _exit(127);
}

int lanyard_start_detached(
    const char *path, char *const argv[], char *const envp[], int error_output, int passed) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
  pid_t child = fork();
  if (child < 0) {
    int reason = errno;
    close(ends[0]);
    close(ends[1]);
    return -reason;
  }
  if (child == 0) {
    // A new session, whose leader ends at once: the agent can never acquire a terminal by opening one.
    setsid();
    pid_t grandchild = fork();
    if (grandchild == 0) become(path, argv, envp, error_output, passed, ends[1]);
    if (grandchild < 0) {
      int reason = errno;
      ssize_t ignored = write(ends[1], &reason, sizeof reason);
      (void)ignored;
    }
    _exit(0);
  }
  close(ends[1]);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
  }
  // End of file: exec closed the other end, so the program runs.
  int reason = 0;
  ssize_t got;
  do {
    got = read(ends[0], &reason, sizeof reason);
  } while (got < 0 && errno == EINTR);
  close(ends[0]);
  return got == sizeof reason ? -reason : 0;
}

int lanyard_process_open(pid_t pid) {
  long fd = syscall(434 /* pidfd_open: the same on every architecture, and missing in older headers */, pid, 0);
  return fd < 0 ? -errno : (int)fd;
}
