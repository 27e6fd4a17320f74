// The speed limit: one thread, one poll loop, every line sent back as it came. What a local agent adds to this is
// what its own work costs.
//
//   echo SOCKET
//
// Serves until it is killed. Built by bench.py with `cc -O2`.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONNECTIONS = 256, BUFFER = 1 << 20 };

// Bytes [0, used) came and were not sent back; only whole lines of them may be.
struct connection {
  char *bytes;
  size_t used;
};

static struct pollfd watched[CONNECTIONS + 1];
static struct connection connections[CONNECTIONS + 1];
static nfds_t count = 1;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void listen_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    fail(path);
  }
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 128) < 0) fail(path);
  watched[0] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void accept_one(void) {
  int fd = accept4(watched[0].fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  if (count > CONNECTIONS) {
    close(fd);
    return;
  }
  watched[count] = (struct pollfd){.fd = fd, .events = POLLIN};
  connections[count] = (struct connection){.bytes = malloc(BUFFER)};
  if (!connections[count].bytes) fail("malloc");
  count++;
}

static void drop(nfds_t i) {
  close(watched[i].fd);
  free(connections[i].bytes);
  count--;
  watched[i] = watched[count];
  connections[i] = connections[count];
}

// False when the connection is over.
static int serve(nfds_t i) {
  struct connection *c = &connections[i];
  if (watched[i].revents & (POLLIN | POLLHUP) && c->used < BUFFER) {
    ssize_t n = read(watched[i].fd, c->bytes + c->used, BUFFER - c->used);
    if (n == 0 || (n < 0 && errno != EAGAIN)) return 0;
    if (n > 0) c->used += n;
  }
  char *newline = memrchr(c->bytes, '\n', c->used);
  if (!newline && c->used == BUFFER) return 0;
  size_t whole = newline ? newline + 1 - c->bytes : 0;
  if (whole) {
    ssize_t n = write(watched[i].fd, c->bytes, whole);
    if (n < 0 && errno != EAGAIN) return 0;
    if (n > 0) {
      c->used -= n;
      whole -= n;
      memmove(c->bytes, c->bytes + n, c->used);
    }
  }
  watched[i].events = (c->used < BUFFER ? POLLIN : 0) | (whole ? POLLOUT : 0);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fputs("usage: echo SOCKET\n", stderr);
    return 64;
  }
  signal(SIGPIPE, SIG_IGN);
  listen_at(argv[1]);
  for (;;) {
    if (poll(watched, count, -1) < 0 && errno != EINTR) fail("poll");
    for (nfds_t i = count; i-- > 1;)
      if (watched[i].revents && !serve(i)) drop(i);
    if (watched[0].revents) accept_one();
  }
}
