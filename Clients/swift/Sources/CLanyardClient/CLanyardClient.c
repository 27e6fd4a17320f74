#define _GNU_SOURCE
#define __STDC_WANT_LIB_EXT1__ 1
#include "CLanyardClient.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int lanyard_client_peer_user(int socket, uid_t *user) {
#ifdef SO_PEERCRED
  struct ucred credentials;
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0) return -1;
  *user = credentials.uid;
  return 0;
#else
  gid_t group;
  return getpeereid(socket, user, &group);
#endif
}

#ifndef __linux__
/// Sets the flags that Linux sets as it makes a descriptor.
static int prepare(int descriptor) {
  if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) < 0) return -1;
  return fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}
#endif

int lanyard_client_pipe(int ends[2]) {
#ifdef __linux__
  return pipe2(ends, O_CLOEXEC | O_NONBLOCK);
#else
  if (pipe(ends) < 0) return -1;
  if (prepare(ends[0]) == 0 && prepare(ends[1]) == 0) return 0;
  close(ends[0]);
  close(ends[1]);
  return -1;
#endif
}

int lanyard_client_socket(void) {
#ifdef __linux__
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
#else
  int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  if (descriptor < 0) return -1;
  int yes = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
  if (prepare(descriptor) == 0) return descriptor;
  close(descriptor);
  return -1;
#endif
}

ssize_t lanyard_client_send(int socket, const void *bytes, size_t count) {
#ifdef MSG_NOSIGNAL
  return send(socket, bytes, count, MSG_NOSIGNAL);
#else
  return send(socket, bytes, count, 0);
#endif
}

struct thread_start {
  void (*body)(void *);
  void *argument;
};

static void *run_thread(void *argument) {
  struct thread_start start = *(struct thread_start *)argument;
  free(argument);
  // Signals are for the program's own threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  start.body(start.argument);
  return NULL;
}

int lanyard_client_thread(void (*body)(void *), void *argument) {
  struct thread_start *start = malloc(sizeof *start);
  if (start == NULL) return ENOMEM;
  *start = (struct thread_start){.body = body, .argument = argument};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  int result = pthread_create(&thread, &attributes, run_thread, start);
  pthread_attr_destroy(&attributes);
  if (result != 0) free(start);
  return result;
}

void lanyard_client_wipe(void *bytes, size_t count) {
#ifdef __APPLE__
  memset_s(bytes, count, 0, count);
#else
  explicit_bzero(bytes, count);
#endif
}

// The child keeps the descriptors that it still needs above this number while it sets up the standard ones.
enum { safe_from = 16, first_other = 3 };

/// Marks every descriptor but the standard ones as closed by `exec`.
static void close_others_at_exec(void) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first_other, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */) == 0) return;
#endif
  long limit = sysconf(_SC_OPEN_MAX);
  for (int descriptor = first_other; descriptor < (limit > 0 && limit < 65536 ? limit : 65536); descriptor++)
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

/// Runs in the child, between `fork` and `exec`: async-signal-safe functions only.
static void become(
    const char *program, char *const arguments[], char *const environment[], int log, int report) {
  int told = fcntl(report, F_DUPFD_CLOEXEC, safe_from);
  int opened = open("/dev/null", O_RDWR | O_CLOEXEC);
  int null = opened < 0 ? -1 : fcntl(opened, F_DUPFD_CLOEXEC, safe_from);
  int output = log < 0 ? null : fcntl(log, F_DUPFD_CLOEXEC, safe_from);
  if (told < 0 || null < 0 || output < 0) goto failed;
  if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(output, 2) < 0) goto failed;
  close_others_at_exec();
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  umask(077);
  setsid();
  if (chdir("/") < 0) goto failed;
  execve(program, arguments, environment);
failed:;
  int reason = errno;
  ssize_t ignored = write(told >= 0 ? told : report, &reason, sizeof reason);
  (void)ignored;
  _exit(127);
}

pid_t lanyard_client_start(
    const char *program, char *const arguments[], char *const environment[], int log) {
  int ends[2];
#ifdef __linux__
  // At once: a program that another thread starts would hold the pipe open, and this thread waits for its end.
  if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
#else
  if (pipe(ends) < 0) return -errno;
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
#endif
  // No handler of this program may run in the child.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t child = fork();
  if (child == 0) become(program, arguments, environment, log, ends[1]);
  int reason = child < 0 ? errno : 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(ends[1]);
  if (child > 0) {
    // The end of the pipe without a byte tells that `exec` succeeded.
    ssize_t count;
    do count = read(ends[0], &reason, sizeof reason);
    while (count < 0 && errno == EINTR);
    if (count != sizeof reason) reason = 0;
    if (reason != 0) waitpid(child, NULL, 0);
  }
  close(ends[0]);
  return reason != 0 ? -reason : child;
}
