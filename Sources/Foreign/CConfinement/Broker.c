#define _GNU_SOURCE
#include "CConfinement.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

// The agent's longest wait for the broker to take a request.
static const struct timeval sending = {.tv_sec = 10};

enum {
  // Requests that are performed at once; one more waits. A person sees one prompt and some browsers.
  most_workers = 32,
  control = 3,
};

struct request {
  uint32_t kind;
  char text[LANYARD_BROKER_BYTES];
};

// Sends bytes and up to two descriptors as one message.
static int send_message(int fd, const void *head, size_t head_count, const void *bytes, size_t count, int *fds, int fd_count) {
  struct iovec parts[] = {{(void *)head, head_count}, {(void *)bytes, count}};
  union {
    char bytes[CMSG_SPACE(2 * sizeof(int))];
    struct cmsghdr align;
  } space = {{0}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  if (fd_count > 0) {
    message.msg_control = space.bytes;
    message.msg_controllen = CMSG_SPACE((size_t)fd_count * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN((size_t)fd_count * sizeof(int));
    memcpy(CMSG_DATA(header), fds, (size_t)fd_count * sizeof(int));
  }
  ssize_t sent;
  do {
    sent = sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? -errno : 0;
}

// Receives one message, and up to two descriptors, which are -1 where there is none.
static ssize_t receive_message(int fd, void *bytes, size_t capacity, int fds[2]) {
  struct iovec part = {bytes, capacity};
  union {
    char bytes[CMSG_SPACE(2 * sizeof(int))];
    struct cmsghdr align;
  } space;
  struct msghdr message = {
    .msg_iov = &part, .msg_iovlen = 1, .msg_control = space.bytes, .msg_controllen = sizeof space.bytes};
  fds[0] = fds[1] = -1;
  ssize_t count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  if (count < 0) return -errno;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t length = header->cmsg_len - CMSG_LEN(0);
    memcpy(fds, CMSG_DATA(header), length < 2 * sizeof(int) ? length : 2 * sizeof(int));
  }
  return count;
}

static void note_child(int number) { (void)number; }

static unsigned reap(unsigned workers) {
  while (workers > 0 && waitpid(-1, NULL, WNOHANG) > 0) workers--;
  return workers;
}

static void perform(const struct request *request, size_t length, int fds[2], lanyard_broker_work work, const void *context) {
  close(control);
  // The work waits for programs that it starts.
  signal(SIGCHLD, SIG_DFL);
  work(request->kind, request->text, length, fds[0], fds[1], context);
  _exit(0);
}

static _Noreturn void serve(lanyard_broker_work work, const void *context) {
  static struct request request;
  unsigned workers = 0;
  for (;;) {
    int fds[2];
    ssize_t count = receive_message(control, &request, sizeof request, fds);
    workers = reap(workers);
    if (count == -EINTR) continue;
    // The agent has ended.
    if (count <= 0) _exit(0);
    while (workers >= most_workers && waitpid(-1, NULL, 0) > 0) workers--;
    if ((size_t)count >= sizeof request.kind && fds[0] >= 0) {
      pid_t child = fork();
      if (child == 0) perform(&request, (size_t)count - sizeof request.kind, fds, work, context);
      if (child > 0) workers++;
    }
    for (int index = 0; index < 2; index++)
      if (fds[index] >= 0) close(fds[index]);
  }
}

// What lists of processes show: the agent's arguments would make two agents of one.
static void rename_process(char **arguments) {
  static const char name[] = "lanyard-broker";
  prctl(PR_SET_NAME, name);
  if (!arguments || !arguments[0]) return;
  // The arguments lie one behind the other (execve(2)).
  char *end = arguments[0];
  for (char **argument = arguments; *argument && *argument == end; argument++) end += strlen(*argument) + 1;
  size_t space = (size_t)(end - arguments[0]);
  memset(arguments[0], 0, space);
  memcpy(arguments[0], name, sizeof name - 1 < space - 1 ? sizeof name - 1 : space - 1);
}

static _Noreturn void become_broker(int end, pid_t agent, lanyard_broker_work work, const void *context, char **arguments) {
  // Signals of a terminal and of a service manager are for the agent; the broker ends with it.
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != agent) _exit(0);
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
  for (size_t index = 0; index < sizeof ignored / sizeof *ignored; index++) signal(ignored[index], SIG_IGN);
  struct sigaction child = {.sa_handler = note_child};
  sigaction(SIGCHLD, &child, NULL);
  rename_process(arguments);
  // Only the socket stays: no file of the agent, and no output that a reader waits for the end of.
  if (end != control && dup3(end, control, O_CLOEXEC) < 0) _exit(1);
  int null = open("/dev/null", O_RDWR);
  if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) _exit(1);
  if (syscall(SYS_close_range, control + 1, ~0u, 0) < 0)
    for (int fd = control + 1; fd < 1024; fd++) close(fd);
  if (chdir("/") < 0) _exit(1);
  serve(work, context);
}

int lanyard_broker_start(lanyard_broker_work work, const void *context, char **arguments) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return -errno;
  pid_t agent = getpid(), child = fork();
  if (child == 0) become_broker(ends[1], agent, work, context, arguments);
  int reason = errno;
  close(ends[1]);
  if (child > 0) {
    setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &sending, sizeof sending);
    return ends[0];
  }
  close(ends[0]);
  return -reason;
}

int lanyard_broker_ask(int broker, uint32_t kind, const char *text, size_t length, int handed, int seconds) {
  if (broker < 0) return -EPIPE;
  if (length > LANYARD_BROKER_BYTES) return -ENAMETOOLONG;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return -errno;
  const struct timeval patience = {.tv_sec = seconds};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  int passed[] = {ends[1], handed};
  int result = send_message(broker, &kind, sizeof kind, text, length, passed, handed < 0 ? 1 : 2);
  close(ends[1]);
  if (result == 0) return ends[0];
  close(ends[0]);
  return result;
}

int lanyard_broker_answer(int reply, const void *bytes, size_t count, int passed) {
  return send_message(reply, NULL, 0, bytes, count, &passed, passed < 0 ? 0 : 1);
}

ssize_t lanyard_broker_receive(int reply, void *bytes, size_t capacity, int *passed) {
  int fds[2];
  ssize_t count;
  do {
    count = receive_message(reply, bytes, capacity, fds);
  } while (count == -EINTR);
  if (fds[1] >= 0) close(fds[1]);
  *passed = fds[0];
  return count;
}
