#define _GNU_SOURCE
#include "CConfinement.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// From linux/landlock.h, which headers of older systems lack or have without the newer members. The numbers of the calls
// are the same on every architecture.
enum { create_ruleset = 444, add_rule = 445, restrict_self = 446 };
enum { create_ruleset_version = 1, rule_path_beneath = 1 };

// Older kernels know less of it, and accept the rest as long as it is 0.
struct ruleset {
  uint64_t handled_files, handled_network, scoped;
};

struct path_beneath {
  uint64_t allowed;
  int32_t parent;
} __attribute__((packed));

// The rights that a rule for a file may name; the others are for directories.
static const uint64_t rights_to_a_file = LANYARD_FILE_EXECUTE | LANYARD_FILE_WRITE | LANYARD_FILE_READ |
                                         LANYARD_FILE_TRUNCATE | LANYARD_FILE_DEVICE_CONTROL;

int lanyard_landlock_version(void) {
  long version = syscall(create_ruleset, NULL, 0, create_ruleset_version);
  return version < 0 ? 0 : (int)version;
}

static int add(int ruleset, const struct lanyard_file_rule *rule, uint64_t handled) {
  int parent = open(rule->path, O_PATH | O_CLOEXEC);
  if (parent < 0) return 0;
  struct stat status;
  struct path_beneath beneath = {.allowed = rule->rights & handled, .parent = parent};
  int result = 0;
  if (fstat(parent, &status) < 0) {
    result = -errno;
  } else {
    if (!S_ISDIR(status.st_mode)) beneath.allowed &= rights_to_a_file;
    if (beneath.allowed && syscall(add_rule, ruleset, rule_path_beneath, &beneath, 0) < 0) result = -errno;
  }
  close(parent);
  return result;
}

int lanyard_landlock_restrict(
    uint64_t handled, uint64_t network, uint64_t scoped, const struct lanyard_file_rule *rules, size_t count) {
  struct ruleset attributes = {.handled_files = handled, .handled_network = network, .scoped = scoped};
  int ruleset = (int)syscall(create_ruleset, &attributes, sizeof attributes, 0);
  if (ruleset < 0) return -errno;
  int result = 0;
  for (size_t index = 0; index < count && result == 0; index++) result = add(ruleset, &rules[index], handled);
  if (result == 0 && syscall(restrict_self, ruleset, 0) < 0) result = -errno;
  close(ruleset);
  return result;
}
