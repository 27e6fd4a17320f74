#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

// From linux/keyctl.h: a header of the kernel, not of libc.
enum {
  process_keyring = -2,
  user_keyring = -4,
  operation_set_permissions = 5,
  operation_link = 8,
  operation_unlink = 9,
  operation_search = 10,
  operation_read = 11,
};

// Possessor and user: view, read, write, search, link, set attributes. Group and others: nothing.
enum { owner_only = 0x3f3f0000 };

// A service's session keyring may lack a link to the user keyring. Without such a link ("possession") the default
// permissions let the agent see its key but not read it. This links the user keyring to the thread's process keyring.
static void possess_user_keyring(void) { syscall(SYS_keyctl, operation_link, user_keyring, process_keyring); }

static long find(const char *description) {
  possess_user_keyring();
  long key = syscall(SYS_keyctl, operation_search, user_keyring, "user", description, 0);
  return key < 0 ? -errno : key;
}

ssize_t lanyard_keyring_read(const char *description, void *bytes, size_t capacity) {
  long key = find(description);
  if (key < 0) return key;
  long length = syscall(SYS_keyctl, operation_read, key, bytes, capacity);
  return length < 0 ? -errno : length;
}

int lanyard_keyring_write(const char *description, const void *bytes, size_t count) {
  possess_user_keyring();
  long key = syscall(SYS_add_key, "user", description, bytes, count, user_keyring);
  if (key < 0) return -errno;
  return syscall(SYS_keyctl, operation_set_permissions, key, owner_only) < 0 ? -errno : 0;
}

int lanyard_keyring_remove(const char *description) {
  long key = find(description);
  if (key < 0) return (int)key;
  return syscall(SYS_keyctl, operation_unlink, key, user_keyring) < 0 ? -errno : 0;
}
