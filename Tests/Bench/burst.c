// Sends a file of request lines and waits for all answers: all lines in one go, or each line after the answer to the
// line before it.
//
//   burst --socket PATH --send FILE --answers N [--one-by-one] [--cpu N]
//
// N is the number of answers, also of those inside the array that answers a batch. Prints one JSON object: seconds,
// answers, and `errors`, the number of answers that contain `"error"`. While it sends it reads too, as a client must that
// sends more than the agent keeps. Exits 1 when the server goes away before all is answered.

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
#include <time.h>
#include <unistd.h>

enum { TEXT = 1 << 26 };

#define EACH "\"jsonrpc\""
#define FAILED "\"error\":"

static char *requests, *answers;
static size_t length, sent, used, scanned, seen;
static int fd;

static void fail(const char *what) {
  if (errno) perror(what); else fprintf(stderr, "%s\n", what);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static void dial(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  errno = ENAMETOOLONG;
  if (strlen(path) >= sizeof address.sun_path) fail(path);
  strcpy(address.sun_path, path);
  fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) fail(path);
  if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0) fail("fcntl");
}

static void read_requests(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) fail(path);
  length = fread(requests, 1, TEXT, file);
  fclose(file);
}

// Counts what came since the last look. A mark that is cut by the end of the text is found the next time.
static void count(void) {
  char *at;
  while ((at = memmem(answers + scanned, used - scanned, EACH, sizeof EACH - 1))) {
    seen++;
    scanned = at + sizeof EACH - 1 - answers;
  }
  if (used - scanned > sizeof EACH) scanned = used - sizeof EACH;
}

static void send_until(size_t end) {
  ssize_t n = send(fd, requests + sent, end - sent, MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN) fail("send");
  if (n > 0) sent += n;
}

static void receive(void) {
  errno = 0;
  ssize_t n = recv(fd, answers + used, TEXT - used, 0);
  if (n == 0) fail("the server went away");
  if (n < 0 && errno != EAGAIN) fail("recv");
  if (n > 0) used += n;
  count();
}

// Sends [sent, end) and reads until so many answers came, and the last of them whole.
static void exchange(size_t end, size_t wanted) {
  while (sent < end || seen < wanted || answers[used - 1] != '\n') {
    struct pollfd watched = {.fd = fd, .events = POLLIN | (sent < end ? POLLOUT : 0)};
    if (poll(&watched, 1, 30000) <= 0) fail("no answer");
    if (watched.revents & POLLOUT) send_until(end);
    if (watched.revents & (POLLIN | POLLHUP)) receive();
  }
}

static size_t occurrences(const char *mark) {
  size_t found = 0;
  for (char *at = answers; (at = memmem(at, answers + used - at, mark, strlen(mark))); at++) found++;
  return found;
}

int main(int argc, char **argv) {
  const char *path = NULL, *file = NULL;
  size_t wanted = 0;
  bool one_by_one = false;
  for (int i = 1; i < argc; i++) {
    const char *option = argv[i];
    if (!strcmp(option, "--one-by-one")) { one_by_one = true; continue; }
    const char *value = i + 1 < argc ? argv[++i] : "";
    if (!strcmp(option, "--socket")) path = value;
    else if (!strcmp(option, "--send")) file = value;
    else if (!strcmp(option, "--answers")) wanted = strtoul(value, NULL, 10);
    else if (!strcmp(option, "--cpu")) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(atoi(value), &set);
      if (sched_setaffinity(0, sizeof set, &set) < 0) fail("sched_setaffinity");
    }
  }
  if (!path || !file || !wanted) {
    fputs("usage: burst --socket PATH --send FILE --answers N [--one-by-one] [--cpu N]\n", stderr);
    return 64;
  }
  requests = malloc(TEXT);
  answers = malloc(TEXT);
  if (!requests || !answers) fail("malloc");
  memset(answers, 0, TEXT);  // so that no page is made while time runs
  read_requests(file);
  dial(path);
  double begun = now();
  if (one_by_one) {
    while (sent < length) {
      char *newline = memchr(requests + sent, '\n', length - sent);
      errno = 0;
      if (!newline) fail("a line without end");
      exchange(newline + 1 - requests, seen + 1);
    }
  } else {
    exchange(length, wanted);
  }
  double took = now() - begun;
  printf("{\"seconds\":%.6f,\"answers\":%zu,\"errors\":%zu}\n", took, seen, occurrences(FAILED));
  return seen != wanted;
}
