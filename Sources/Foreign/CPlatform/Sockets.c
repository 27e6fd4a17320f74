#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
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

// The same descriptor above 2: where a program was started without stdout, what it prints must not go to the socket.
static int above_standard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int error = errno;
  close(fd);
  errno = error;
  return above;
}

int lanyard_connect_unix(const char *path) {
  struct sockaddr_un address;
  int directory;
  int result = address_of(path, &address, &directory);
  if (result < 0) return result;
  int fd = above_standard(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
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

int lanyard_connect_datagram(const char *path, int send_milliseconds) {
  struct sockaddr_un address;
  int directory;
  int result = address_of(path, &address, &directory);
  if (result < 0) return result;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct timeval limit = {.tv_sec = send_milliseconds / 1000, .tv_usec = send_milliseconds % 1000 * 1000};
  // A message may be larger than the default of the system; the kernel caps this.
  int room = 8 << 20;
  if (fd < 0) {
    result = -errno;
  } else {
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    result = setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) < 0 ||
                     connect(fd, (struct sockaddr *)&address, sizeof address) < 0
                 ? -errno
                 : fd;
    if (result < 0) close(fd);
  }
  if (directory >= 0) close(directory);
  return result;
}

int lanyard_send_datagram(int socket, const void *bytes, size_t count) {
  for (;;) {
    if (send(socket, bytes, count, MSG_NOSIGNAL) >= 0) return 0;
    if (errno != EINTR) return -errno;
  }
}

int lanyard_send_memory_file(int socket, const void *bytes, size_t count) {
  int file = memfd_create("lanyard-audit", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -errno;
  int result = 0;
  for (size_t sent = 0; sent < count && result == 0;) {
    ssize_t written = write(file, (const char *)bytes + sent, count - sent);
    if (written > 0) {
      sent += (size_t)written;
    } else if (errno != EINTR) {
      result = written < 0 ? -errno : -EIO;
    }
  }
  if (result == 0 && fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0) result = -errno;
  if (result == 0) {
    union {
      struct cmsghdr header;
      char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &file, sizeof(int));
    while ((result = sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0) == -EINTR) {
    }
  }
  close(file);
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
