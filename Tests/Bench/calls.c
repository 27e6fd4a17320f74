// What a connection costs any server that makes the agent's calls for it and does no work: it asks who the client is, watches
// it with epoll, answers one line and looks whether the client has ended.
//
//   calls SOCKET BYTES
//
// The answer to a line is that many bytes with the line's id in place. Serves until it is killed. Built by bench.py with
// `cc -O2`.

#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HEAD "{\"jsonrpc\":\"2.0\",\"id\":"

enum { ID_DIGITS = 10, LINE = 1 << 16 };

static char answer[1 << 16];
static size_t length;
static int queue;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static int listener_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) fail(path);
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 128) < 0) fail(path);
  return fd;
}

static void watch(int fd) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  if (epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event) < 0) fail("epoll_ctl");
}

static void take(int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != getuid()) {
    close(fd);
    return;
  }
  watch(fd);
}

// One line a read, as the load generator of fresh connections sends it.
static void serve(int fd) {
  static char line[LINE];
  ssize_t got = read(fd, line, sizeof line - 1);
  if (got <= 0) {
    close(fd);
    return;
  }
  line[got] = 0;
  const char *id = strstr(line, "\"id\":");
  if (!id || strlen(id) < 5 + ID_DIGITS) {
    close(fd);
    return;
  }
  memcpy(answer + sizeof HEAD - 1, id + 5, ID_DIGITS);
  if (send(fd, answer, length, MSG_NOSIGNAL) != (ssize_t)length) close(fd);
}

int main(int argc, char **argv) {
  length = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
  if (length < 64 || length > sizeof answer) {
    fputs("usage: calls SOCKET BYTES\n", stderr);
    return 64;
  }
  static const char head[] = HEAD "0000000000,\"result\":\"", tail[] = "\"}\n";
  memset(answer, 'x', length);
  memcpy(answer, head, sizeof head - 1);
  memcpy(answer + length - (sizeof tail - 1), tail, sizeof tail - 1);
  signal(SIGPIPE, SIG_IGN);
  queue = epoll_create1(EPOLL_CLOEXEC);
  int listener = listener_at(argv[1]);
  watch(listener);
  for (struct epoll_event event;;) {
    if (epoll_wait(queue, &event, 1, -1) != 1) continue;
    if (event.data.fd == listener) take(listener);
    else serve(event.data.fd);
  }
}
