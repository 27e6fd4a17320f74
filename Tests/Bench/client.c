// The limit of `lanyard token`: a whole process that connects, asks once, prints the token and ends.
//
//   client SOCKET ACCOUNT

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MEMBER "\"accessToken\":\""

static void fail(const char *what) {
  perror(what);
  exit(1);
}

int main(int argc, char **argv) {
  static char answer[1 << 16];
  char request[512];
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (argc != 3 || strlen(argv[1]) >= sizeof address.sun_path || strlen(argv[2]) > 256) {
    fputs("usage: client SOCKET ACCOUNT\n", stderr);
    return 64;
  }
  strcpy(address.sun_path, argv[1]);
  int length = snprintf(
      request, sizeof request, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"token.get\",\"params\":{\"account\":\"%s\"}}\n",
      argv[2]);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) fail(argv[1]);
  if (write(fd, request, length) != length) fail("write");
  size_t used = 0;
  while (!memchr(answer, '\n', used)) {
    ssize_t n = read(fd, answer + used, sizeof answer - 1 - used);
    if (n <= 0) fail("read");
    used += n;
  }
  answer[used] = 0;
  char *token = strstr(answer, MEMBER);
  char *end = token ? strchr(token += sizeof MEMBER - 1, '"') : NULL;
  if (!end) return 1;
  *end = '\n';
  return write(STDOUT_FILENO, token, end + 1 - token) < 0;
}
