#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { first_descriptor = 3, most_descriptors = 16 };

static long number_in_environment(const char *name) {
  const char *text = getenv(name);
  if (!text || *text < '0' || *text > '9') return -1;
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  return errno || *end ? -1 : value;
}

static int socket_option(int fd, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &size) < 0 ? -1 : value;
}

int lanyard_listen_fds(void) {
  long pid = number_in_environment("LISTEN_PID");
  long count = number_in_environment("LISTEN_FDS");
  // Child processes must not take the descriptors for theirs.
  unsetenv("LISTEN_PID");
  unsetenv("LISTEN_FDS");
  unsetenv("LISTEN_FDNAMES");
  if (pid != (long)getpid() || count <= 0) return 0;
  if (count > most_descriptors) return -EINVAL;
  for (int fd = first_descriptor; fd < first_descriptor + count; fd++) {
    if (socket_option(fd, SO_DOMAIN) != AF_UNIX || socket_option(fd, SO_TYPE) != SOCK_STREAM ||
        socket_option(fd, SO_ACCEPTCONN) != 1)
      return -EINVAL;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) return -errno;
  }
  return (int)count;
}

int lanyard_notify(const char *state) {
  const char *path = getenv("NOTIFY_SOCKET");
  if (!path || !*path) return 0;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(path);
  if ((path[0] != '/' && path[0] != '@') || length >= sizeof address.sun_path) return -EINVAL;
  memcpy(address.sun_path, path, length);
  // The manager's socket may be abstract; the agent's never is.
  if (path[0] == '@') address.sun_path[0] = 0;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  socklen_t size = offsetof(struct sockaddr_un, sun_path) + length;
  ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address, size);
  int result = sent < 0 ? -errno : 1;
  close(fd);
  return result;
}
