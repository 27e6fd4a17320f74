// What happens in a sandbox before its command starts (docs/sandbox.md).
#define _GNU_SOURCE
#include "CConfinement.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { backlog = 128, close_range_cloexec = 4 };

// A socket stays in the network that it was made in, so that the proxy outside serves this one and nothing has to forward.
static int hand_over(int channel, uint16_t port) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return -errno;
  struct sockaddr_in address = {
    .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  char byte = 0;
  int result = 0;
  if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, backlog) < 0) result = -errno;
  if (result == 0) result = lanyard_broker_answer(channel, &byte, 1, listener);
  if (result == 0) {
    ssize_t count;
    do count = recv(channel, &byte, 1, 0);
    while (count < 0 && errno == EINTR);
    result = count == 1 ? 0 : -EPIPE;
  }
  close(listener);
  close(channel);
  return result;
}

int lanyard_sandbox_enter(int channel, uint16_t port) {
  int result = channel < 0 ? 0 : hand_over(channel, port);
  if (result < 0) return result;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  return syscall(SYS_close_range, 3, ~0u, close_range_cloexec) < 0 ? -errno : 0;
}
