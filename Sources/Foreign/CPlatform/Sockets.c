#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

const int lanyard_unix_path_limit = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

int lanyard_accept4(int listener) {
  for (;;) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) return fd;
    // ECONNABORTED: the peer closed before it was accepted (accept(2)); take the next one.
    if (errno != EINTR && errno != ECONNABORTED) return -errno;
  }
}

// Fills `address`. A path that is too long for it is reached as /proc/self/fd/N/NAME; `*directory` must then stay open
// until the call that uses the address has returned.
static int address_of(const char *path, struct sockaddr_un *address, int *directory) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  *directory = -1;
  size_t length = strlen(path);
  if (length == 0) return -EINVAL;
  if (length < sizeof address->sun_path) {
    memcpy(address->sun_path, path, length + 1);
    return 0;
  }
  const char *name = strrchr(path, '/');
  if (!name || name == path) return -ENAMETOOLONG;
  char parent[4096];
  if ((size_t)(name - path) >= sizeof parent) return -ENAMETOOLONG;
  memcpy(parent, path, name - path);
  parent[name - path] = 0;
  *directory = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (*directory < 0) return -errno;
  int written =
      snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s", *directory, name + 1);
  if (written < 0 || (size_t)written >= sizeof address->sun_path) {
    close(*directory);
    *directory = -1;
    return -ENAMETOOLONG;
  }
  return 0;
}

int lanyard_bind_unix(const char *path) {
  struct sockaddr_un address;
  int directory;
  int result = address_of(path, &address, &directory);
  if (result < 0) return result;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    result = -errno;
    goto done;
  }
  // Linux gives the new name the mode of the socket itself (unix_bind), so other users can never connect, and the
  // umask, which all threads share, is not touched. The mode is read back, in case a kernel differs.
  struct stat status;
  if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0) {
    result = -errno;
  } else if (lstat(address.sun_path, &status) < 0) {
    result = -errno;
  } else if (!S_ISSOCK(status.st_mode) || (status.st_mode & 0177) != 0) {
    unlink(address.sun_path);
    result = -EPERM;
  } else {
    result = fd;
  }
  if (result < 0) close(fd);
done:
  if (directory >= 0) close(directory);
  return result;
}

int lanyard_connect_unix(const char *path) {
  struct sockaddr_un address;
  int directory;
  int result = address_of(path, &address, &directory);
  if (result < 0) return result;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    result = -errno;
  } else {
    do {
      result = connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : fd;
    } while (result == -EINTR);
    if (result < 0) close(fd);
  }
  if (directory >= 0) close(directory);
  return result;
}

int lanyard_peer_credentials(int connection, pid_t *pid, uid_t *uid, gid_t *gid) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return -errno;
  if (size != sizeof peer || peer.uid == (uid_t)-1) return -EINVAL;
  *pid = peer.pid;
  *uid = peer.uid;
  *gid = peer.gid;
  return 0;
}
