// The first instructions of the agent, and of each program that sends a secret over TLS itself: the environment is cleaned, and
// descriptors 0 to 2 are opened.
//
// The dynamic linker calls `.preinit_array` of a program before the constructors of its libraries (System V ABI,
// "Initialization and Termination Functions"), so a variable that is removed here is read by none of them. The dynamic
// linker itself and malloc have read theirs by then (LD_PRELOAD, GLIBC_TUNABLES): for one of those the program starts
// itself again. The new image finds nothing to remove and goes on: no loop, and no mark is needed.
#define _GNU_SOURCE
#include "CStart.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

// The variables that these programs and their children need (docs/manual.md, The environment). Every other is removed, since
// libraries obey many that no list could name: SSLKEYLOGFILE writes the keys of TLS connections to a file,
// OPENSSL_CONF loads a module, GCONV_PATH and LOCPATH load data.
static const char *const kept[] = {
  // Where its files are, and how to speak.
  "HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH",
  // Message buses, and where pinentry and a browser appear.
  "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DISPLAY", "GPG_TTY", "TERM", "WAYLAND_DISPLAY", "XAUTHORITY",
  // What a program of a person's shell is told: which browser, whether the person is far away, no colours.
  "BROWSER", "DESKTOP_SESSION", "NO_COLOR", "SSH_CONNECTION", "SSH_TTY",
  // The service manager.
  "CREDENTIALS_DIRECTORY", "LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET",
  // Authorities and proxies.
  "ALL_PROXY", "CURL_CA_BUNDLE", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_DIR", "SSL_CERT_FILE", "all_proxy", "http_proxy",
  "https_proxy", "no_proxy",
};
// No library reads these but for the directories of the person.
static const char *const kept_prefixes[] = {"LANYARD_", "XDG_"};

// Variables that ld.so(8) and malloc (mallopt(3)) have read before the program's first instruction begin with these.
static const char *const read_by_linker[] = {"LD_", "GLIBC_", "MALLOC_"};

enum { vault_closed = 76 };

static unsigned closed;

unsigned lanyard_closed_at_start(void) { return closed; }

static bool is_named(const char *variable, const char *name) {
  size_t length = strlen(name);
  return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

static bool has_prefix(const char *variable, const char *const prefixes[], size_t count) {
  for (size_t index = 0; index < count; index++)
    if (strncmp(variable, prefixes[index], strlen(prefixes[index])) == 0) return true;
  return false;
}

static bool is_kept(const char *variable) {
  if (!strchr(variable, '=')) return false;
  for (size_t index = 0; index < sizeof kept / sizeof *kept; index++)
    if (is_named(variable, kept[index])) return true;
  return has_prefix(variable, kept_prefixes, sizeof kept_prefixes / sizeof *kept_prefixes);
}

// The name of the program's file, and its length.
static const char *program_name(char path[PATH_MAX], size_t *length) {
  ssize_t count = readlink("/proc/self/exe", path, PATH_MAX - 1);
  if (count <= 0) {
    *length = strlen("lanyard");
    return "lanyard";
  }
  path[count] = 0;
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  // A file that was removed: "lanyard-agent (deleted)".
  *length = strcspn(name, " ");
  return name;
}

static _Noreturn void refuse(const char *reason) {
  char path[PATH_MAX];
  size_t length;
  const char *name = program_name(path, &length);
  ssize_t ignored = write(STDERR_FILENO, name, length);
  ignored = write(STDERR_FILENO, reason, strlen(reason));
  (void)ignored;
  _exit(vault_closed);
}

// Removes variables in place, also from /proc/self/environ; true if the dynamic linker has read one of them.
static bool clean(char **environment) {
  char **end = environment;
  bool was_read = false;
  for (char **variable = environment; *variable; variable++) {
    if (is_kept(*variable)) {
      *end++ = *variable;
      continue;
    }
    was_read |= has_prefix(*variable, read_by_linker, sizeof read_by_linker / sizeof *read_by_linker);
    explicit_bzero(*variable, strlen(*variable));
  }
  *end = NULL;
  return was_read;
}

// A descriptor that is opened later would get one of these numbers, and a line to standard output would go into it.
static void open_standard_descriptors(void) {
  for (int fd = 0; fd <= 2; fd++) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    closed |= 1u << fd;
    if (open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
      refuse(": /dev/null can't be opened in place of a closed standard descriptor.\n");
  }
}

// A timer outlives execve(2) and the handler of its signal does not: LD_PROFILE's would end the program.
static void stop_timers(void) {
  const struct itimerval none = {0};
  setitimer(ITIMER_REAL, &none, NULL);
  setitimer(ITIMER_VIRTUAL, &none, NULL);
  setitimer(ITIMER_PROF, &none, NULL);
}

static void start(int count, char **arguments, char **environment) {
  stop_timers();
  (void)count;
  if (clean(environment)) {
    execve("/proc/self/exe", arguments, environment);
    // Without /proc: by the path that it was started with.
    const char *path = (const char *)getauxval(AT_EXECFN);
    if (path) execve(path, arguments, environment);
    refuse(": it can't start itself again with a clean environment, so it does not start.\n");
  }
  // The kernel has named the process after /proc/self/exe.
  char name[16];
  if (prctl(PR_GET_NAME, name) == 0 && strcmp(name, "exe") == 0) {
    char path[PATH_MAX];
    size_t length;
    const char *own = program_name(path, &length);
    if (length >= sizeof name) length = sizeof name - 1;
    memcpy(name, own, length);
    name[length] = 0;
    prctl(PR_SET_NAME, name);
  }
  open_standard_descriptors();
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = start;
