// `lanyard token NAME`, from the request to the printed token, before a constructor of Swift's runtime has run.
//
// Whatever is not the plain case is left to Swift: another command or option, a name that JSON would escape, a grant, an
// agent that is to be started or belongs to another user. So is any answer but a token, with the connection.
#define _GNU_SOURCE
#include "CQuickToken.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "CPlatform.h"

enum { name_bytes = 128, path_bytes = 512, interrupted = 130, failed = 1 };

static struct {
  int connection;
  int waited;
  size_t count;
  char bytes[16 << 10];
} begun = {.connection = -1};

struct lanyard_begun_request lanyard_take_begun_request(void) {
  struct lanyard_begun_request request = {begun.connection, begun.bytes, begun.count, begun.waited};
  begun.connection = -1;
  return request;
}

void lanyard_wipe_begun_request(void) { explicit_bzero(begun.bytes, begun.count); }

// The value of a variable; NULL if it is not set or empty.
static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

// Names that stand in JSON as they are, and that no option looks like.
static bool is_plain(const char *name) {
  if (*name == '-' || !*name || strlen(name) > name_bytes) return false;
  for (; *name; name++)
    if (!(*name >= 'a' && *name <= 'z') && !(*name >= 'A' && *name <= 'Z') && !(*name >= '0' && *name <= '9') &&
        !strchr("-_.@+", *name))
      return false;
  return true;
}

// The command, under its own name: links to it are other commands (`CredentialHelperName`).
static bool is_ours(int count, char **words) {
  if (count != 3) return false;
  const char *slash = strrchr(words[0], '/');
  return strcmp(slash ? slash + 1 : words[0], "lanyard") == 0 && strcmp(words[1], "token") == 0 && is_plain(words[2]);
}

// True if `path` is a directory of this user, and has no bit of `refused` in its mode.
static bool is_own_directory(const char *path, mode_t refused) {
  struct stat information;
  return lstat(path, &information) == 0 && S_ISDIR(information.st_mode) && information.st_uid == geteuid() &&
         !(information.st_mode & refused);
}

// As `SocketPlace`.
static bool socket_path(char *path) {
  const char *named = variable("LANYARD_SOCKET");
  const char *directory = variable("XDG_RUNTIME_DIR");
  int length;
  if (named) {
    length = *named == '/' ? snprintf(path, path_bytes, "%s", named) : -1;
  } else if (directory && *directory == '/') {
    length = snprintf(path, path_bytes, "%s/lanyard/agent.sock", directory);
  } else {
    snprintf(path, path_bytes, "/run/user/%u", geteuid());
    if (is_own_directory(path, 0)) {
      length = snprintf(path, path_bytes, "/run/user/%u/lanyard/agent.sock", geteuid());
    } else {
      snprintf(path, path_bytes, "/tmp/lanyard-%u", geteuid());
      if (!is_own_directory(path, 077)) return false;
      length = snprintf(path, path_bytes, "/tmp/lanyard-%u/agent.sock", geteuid());
    }
  }
  return length > 0 && length < path_bytes;
}

// True if `GrantHandshake` has nothing to present: no file is named, and the owner's grant does not exist.
static bool has_no_grant(void) {
  if (variable("LANYARD_GRANT_FILE")) return false;
  const char *directory = variable("LANYARD_STATE_DIR");
  const char *below = "owner-grant";
  if (!directory) {
    directory = variable("XDG_STATE_HOME");
    below = "lanyard/owner-grant";
  }
  if (!directory) {
    directory = variable("HOME");
    below = ".local/state/lanyard/owner-grant";
  }
  if (!directory) return true;
  char path[path_bytes];
  int length = snprintf(path, sizeof path, "%s/%s", directory, below);
  struct stat information;
  return length > 0 && length < path_bytes && lstat(path, &information) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

// A connection to an agent of this user; negative if there is none, or a grant to present on it.
static int connected(void) {
  char path[path_bytes];
  if (!has_no_grant() || !socket_path(path)) return -1;
  int connection = lanyard_connect_unix(path);
  if (connection < 0) return connection;
  pid_t pid;
  uid_t uid;
  gid_t gid;
  if (lanyard_peer_credentials(connection, &pid, &uid, &gid) == 0 && uid == geteuid()) return connection;
  close(connection);
  return -1;
}

static void stop(int signal) {
  (void)signal;
  _exit(interrupted);
}

// As `Interruption.prepare`.
static void prepare_for_signals(void) {
  signal(SIGPIPE, SIG_IGN);
  if (signal(SIGINT, stop) == SIG_IGN) signal(SIGINT, SIG_IGN);
}

static bool send_request(const char *name) {
  char line[name_bytes + 96];
  int length = snprintf(
      line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"token.get\",\"params\":{\"account\":\"%s\"}}\n",
      lanyard_begun_request_id, name);
  // A socket that is connected takes a short line at once; the rest of another one can't be sent by Swift.
  return send(begun.connection, line, (size_t)length, MSG_NOSIGNAL) == length;
}

// Reads one line; false if the answer is not that, longer than there is room, or late: a person is told of a longer wait.
static bool receive_line(void) {
  if (poll(&(struct pollfd){.fd = begun.connection, .events = POLLIN}, 1, lanyard_begun_request_patience) == 0) {
    begun.waited = lanyard_begun_request_patience;
    return false;
  }
  while (begun.count < sizeof begun.bytes) {
    ssize_t count = read(begun.connection, begun.bytes + begun.count, sizeof begun.bytes - begun.count);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    begun.count += (size_t)count;
    char *newline = memchr(begun.bytes + begun.count - count, '\n', (size_t)count);
    if (newline) return newline == begun.bytes + begun.count - 1;
  }
  return false;
}

// True if `rest`, which ends with "}}\n", goes on in an object and closes it just there.
static bool closes_at_its_end(const char *rest, const char *end) {
  int depth = 2;
  bool in_string = false;
  for (; rest < end - 3; rest++) {
    if ((unsigned char)*rest < ' ') return false;
    if (in_string) {
      if (*rest == '\\') {
        rest++;
      } else if (*rest == '"') {
        in_string = false;
      }
    } else if (*rest == '"') {
      in_string = true;
    } else if (*rest == '{' || *rest == '[') {
      depth++;
    } else if ((*rest == '}' || *rest == ']') && --depth < 2) {
      return false;
    }
  }
  return depth == 2 && !in_string && rest == end - 3;
}

// The token of the received line, in place; NULL unless it stands first in a result, as the agent writes it, has no
// escapes, and the result ends the line.
static char *token(size_t *length) {
  static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"accessToken\":\"";
  const size_t head_length = sizeof head - 1;
  char *end = begun.bytes + begun.count;
  if (begun.count < head_length + 4 || memcmp(begun.bytes, head, head_length) != 0 || memcmp(end - 3, "}}\n", 3) != 0)
    return NULL;
  char *first = begun.bytes + head_length, *last = first;
  while (last < end && *last > ' ' && *last < 0x7F && *last != '"' && *last != '\\') last++;
  if (last == first || last >= end - 3 || *last != '"' || (last[1] != ',' && last[1] != '}')) return NULL;
  if (!closes_at_its_end(last + 1, end)) return NULL;
  *length = (size_t)(last - first);
  return first;
}

static void fail(int error) {
  char text[256];
  int length = snprintf(text, sizeof text, "lanyard: The answer could not be written: %s.\n", strerror(error));
  ssize_t ignored = write(STDERR_FILENO, text, (size_t)length);
  (void)ignored;
}

// Prints the token; returns the exit code.
static int print(char *text, size_t count) {
  char kept = text[count];
  text[count++] = '\n';
  for (size_t done = 0; done < count;) {
    ssize_t written = write(STDOUT_FILENO, text + done, count - done);
    if (written > 0) {
      done += (size_t)written;
    } else if (written < 0 && errno == EAGAIN) {
      poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, -1);
    } else if (done == 0 && !(written < 0 && errno == EINTR)) {
      text[count - 1] = kept;
      return -1;
    } else if (!(written < 0 && errno == EINTR)) {
      fail(written < 0 ? errno : EIO);
      return failed;
    }
  }
  return 0;
}

static void answer(int count, char **words, char **environment) {
  (void)environment;
  if (!is_ours(count, words)) return;
  prepare_for_signals();
  begun.connection = connected();
  if (begun.connection < 0) return;
  if (!send_request(words[2])) {
    close(begun.connection);
    begun.connection = -1;
    return;
  }
  size_t length;
  char *found = receive_line() ? token(&length) : NULL;
  if (!found) return;
  // Where nothing can be written, Swift reads the answer and says so.
  int code = print(found, length);
  if (code < 0) return;
  explicit_bzero(begun.bytes, begun.count);
  _exit(code);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = answer;
