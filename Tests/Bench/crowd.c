// Clients that take resources of a server: each a connection, which stays idle, sends once, or sends without pause.
//
//   crowd --socket PATH --connections N [--send FILE [--forever]] [--unread] [--cpu N]
//
// With --send each connection sends the file once, with --forever again and again. Answers are read and forgotten, with
// --unread they are not read. A connection that the server ends is made anew while it sends --forever. Prints `ready`
// when all connections are made and have sent the file once, or are kept from sending the rest; then runs until its
// standard input ends.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONNECTIONS = 1024, TEXT = 1 << 22, QUIET_MS = 500 };

static const char *path, *file;
static int connection_count = 1;
static bool forever, unread;
static char text[TEXT];
static size_t length;
static size_t sent[CONNECTIONS + 1];
static struct pollfd watched[CONNECTIONS + 1];

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void dial(int i) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  errno = ENAMETOOLONG;
  if (strlen(path) >= sizeof address.sun_path) fail(path);
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) fail(path);
  if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0) fail("fcntl");
  watched[i] = (struct pollfd){.fd = fd, .events = (unread ? 0 : POLLIN) | (length ? POLLOUT : 0)};
  sent[i] = 0;
}

static void end(int i) {
  close(watched[i].fd);
  watched[i].fd = -1;
  if (forever) dial(i);
}

static void send_more(int i) {
  ssize_t n = send(watched[i].fd, text + sent[i], length - sent[i], MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN) end(i);
  if (n > 0) sent[i] += n;
  if (sent[i] < length) return;
  sent[i] = 0;
  if (!forever) watched[i].events &= ~POLLOUT;
}

static void forget_answers(int i) {
  static char answers[1 << 16];
  ssize_t n = recv(watched[i].fd, answers, sizeof answers, 0);
  if (n == 0 || (n < 0 && errno != EAGAIN)) end(i);
}

static void parse(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const char *option = argv[i];
    if (!strcmp(option, "--forever")) { forever = true; continue; }
    if (!strcmp(option, "--unread")) { unread = true; continue; }
    const char *value = i + 1 < argc ? argv[++i] : "";
    if (!strcmp(option, "--socket")) path = value;
    else if (!strcmp(option, "--send")) file = value;
    else if (!strcmp(option, "--connections")) connection_count = atoi(value);
    else if (!strcmp(option, "--cpu")) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(atoi(value), &set);
      if (sched_setaffinity(0, sizeof set, &set) < 0) fail("sched_setaffinity");
    }
  }
  if (!path || connection_count < 1 || connection_count > CONNECTIONS) {
    fputs("usage: crowd --socket PATH --connections N [--send FILE [--forever]] [--unread] [--cpu N]\n", stderr);
    exit(64);
  }
}

int main(int argc, char **argv) {
  parse(argc, argv);
  if (file) {
    FILE *opened = fopen(file, "r");
    if (!opened) fail(file);
    length = fread(text, 1, sizeof text, opened);
    fclose(opened);
  }
  for (int i = 0; i < connection_count; i++) dial(i);
  watched[connection_count] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
  bool told = false;
  for (;;) {
    int found = poll(watched, connection_count + 1, told ? -1 : QUIET_MS);
    if (found < 0 && errno != EINTR) fail("poll");
    if (watched[connection_count].revents) return 0;
    for (int i = 0; i < connection_count; i++) {
      if (watched[i].revents & POLLOUT) send_more(i);
      if (watched[i].revents & (POLLIN | POLLHUP | POLLERR) && watched[i].fd >= 0) {
        if (unread) end(i); else forget_answers(i);
      }
    }
    if (!told && (found == 0 || forever)) {
      told = true;
      puts("ready");
      fflush(stdout);
    }
  }
}
