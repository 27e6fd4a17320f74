// The speed limit: one thread, one poll loop, every line sent back as it came. What a local agent adds to this is
// what its own work costs.
//
//   echo SOCKET [BYTES]
//
// With BYTES the answer to a line is that many bytes with the line's id in place: what an agent would cost whose own work
// takes no time, but whose answers are as long as a token.
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

#define ID "\"id\":"

static char canned[1 << 16];
static size_t canned_length;

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

// Lays out `{"jsonrpc":"2.0","id":……………,"result":"xxx…"}` of this length, with room for the load generator's ids.
static void lay_out(size_t length) {
  static const char head[] = "{\"jsonrpc\":\"2.0\"," ID "0000000000,\"result\":\"", tail[] = "\"}\n";
  if (length < sizeof head + sizeof tail || length > sizeof canned) {
    errno = EINVAL;
    fail("BYTES");
  }
  memset(canned, 'x', length);
  memcpy(canned, head, sizeof head - 1);
  memcpy(canned + length - (sizeof tail - 1), tail, sizeof tail - 1);
  canned_length = length;
}

// False when the client does not read: the bench's client always does.
static int answer_canned(struct connection *c, int fd) {
  static char answers[BUFFER];
  static const size_t id_place = sizeof "{\"jsonrpc\":\"2.0\"," ID - 1;
  size_t filled = 0, done = 0;
  char *newline;
  while ((newline = memchr(c->bytes + done, '\n', c->used - done))) {
    char *id = memmem(c->bytes + done, newline - c->bytes - done, ID, sizeof ID - 1);
    if (!id || filled + canned_length > BUFFER) return 0;
    memcpy(answers + filled, canned, canned_length);
    memcpy(answers + filled + id_place, id + sizeof ID - 1, 10);
    filled += canned_length;
    done = newline + 1 - c->bytes;
  }
  memmove(c->bytes, c->bytes + done, c->used -= done);
  return write(fd, answers, filled) == (ssize_t)filled;
}

// False when the connection is over.
static int serve(nfds_t i) {
  struct connection *c = &connections[i];
  if (watched[i].revents & (POLLIN | POLLHUP) && c->used < BUFFER) {
    ssize_t n = read(watched[i].fd, c->bytes + c->used, BUFFER - c->used);
    if (n == 0 || (n < 0 && errno != EAGAIN)) return 0;
    if (n > 0) c->used += n;
  }
  if (canned_length) return c->used == 0 || answer_canned(c, watched[i].fd);
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
  if (argc != 2 && argc != 3) {
    fputs("usage: echo SOCKET [BYTES]\n", stderr);
    return 64;
  }
  if (argc == 3) lay_out(strtoul(argv[2], NULL, 10));
  signal(SIGPIPE, SIG_IGN);
  listen_at(argv[1]);
  for (;;) {
    if (poll(watched, count, -1) < 0 && errno != EINTR) fail("poll");
    for (nfds_t i = count; i-- > 1;)
      if (watched[i].revents && !serve(i)) drop(i);
    if (watched[0].revents) accept_one();
  }
}
