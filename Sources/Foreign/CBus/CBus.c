#include "CBus.h"
#include "CLibraries.h"
#include "SDBus.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define FUNCTIONS(X)                                                                                          \
  X(call) X(close_unref) X(error_free) X(get_events) X(get_fd) X(is_ready)                     \
  X(message_append_array) X(message_append_basic) X(message_close_container) X(message_enter_container)       \
  X(message_exit_container) X(message_get_interface) X(message_get_member) X(message_get_path)                \
  X(message_get_sender) X(message_is_signal) X(message_new_method_call) X(message_open_container)             \
  X(message_read_array) X(message_read_basic) X(message_skip) X(message_unref) X(negotiate_fds) X(new)        \
  X(process) X(set_address) X(set_bus_client) X(start) X(wait)

static struct {
#define DECLARE(name) typeof(&sd_bus_##name) name;
  FUNCTIONS(DECLARE)
} bus_library;
static _Atomic bool is_open;

static void open_now(void) {
  void *library = lanyard_open_library("libsystemd.so.0");
  if (!library) return;
#define RESOLVE(name) \
  if (!(bus_library.name = (typeof(bus_library.name))dlsym(library, "sd_bus_" #name))) return;
  FUNCTIONS(RESOLVE)
  is_open = true;
}

static bool open_library(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  if (is_open) return true;
  pthread_mutex_lock(&lock);
  // A person may have installed it meanwhile.
  if (!is_open) open_now();
  pthread_mutex_unlock(&lock);
  return is_open;
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

// Without this timeout, a bus that accepts the connection but never answers would block the first call for 25 s.
static int await_welcome(sd_bus *bus, uint64_t timeout) {
  uint64_t start = now();
  for (;;) {
    int result = bus_library.is_ready(bus);
    if (result != 0) return result < 0 ? result : 0;
    result = bus_library.process(bus, NULL);
    if (result < 0) return result;
    if (result > 0) continue;
    uint64_t passed = now() - start;
    if (passed >= timeout) return -ETIMEDOUT;
    result = bus_library.wait(bus, timeout - passed);
    if (result < 0 && result != -EINTR) return result;
  }
}

int cbus_connect(const char *address, bool takes_descriptors, uint64_t timeout, cbus **bus) {
  if (!open_library()) return -ELIBACC;
  sd_bus *made = NULL;
  int result = bus_library.new(&made);
  if (result >= 0) result = bus_library.set_address(made, address);
  if (result >= 0) result = bus_library.set_bus_client(made, 1);
  if (result >= 0) result = bus_library.negotiate_fds(made, takes_descriptors);
  if (result >= 0) result = bus_library.start(made);
  if (result >= 0) result = await_welcome(made, timeout);
  if (result < 0) {
    bus_library.close_unref(made);
    return result;
  }
  *bus = made;
  return 0;
}

void cbus_close(cbus *bus) { bus_library.close_unref(bus); }

int cbus_new_call(
  cbus *bus, const char *destination, const char *path, const char *interface, const char *member,
  cbus_message **call) {
  return bus_library.message_new_method_call(bus, call, destination, path, interface, member);
}

void cbus_free(cbus_message *message) { bus_library.message_unref(message); }

int cbus_call(
  cbus *bus, cbus_message *call, uint64_t timeout, cbus_message **reply, char *error, size_t error_size) {
  sd_bus_error answer = SD_BUS_ERROR_NULL;
  int result = bus_library.call(bus, call, timeout, &answer, reply);
  const char *name = result < 0 && answer.name ? answer.name : "";
  size_t length = strnlen(name, error_size - 1);
  memcpy(error, name, length);
  error[length] = 0;
  bus_library.error_free(&answer);
  return result < 0 ? result : 0;
}

int cbus_append_text(cbus_message *message, char type, const char *text) {
  return bus_library.message_append_basic(message, type, text);
}
int cbus_append_bool(cbus_message *message, bool value) {
  int wide = value;
  return bus_library.message_append_basic(message, 'b', &wide);
}
int cbus_append_u32(cbus_message *message, uint32_t value) {
  return bus_library.message_append_basic(message, 'u', &value);
}
int cbus_append_i32(cbus_message *message, int32_t value) {
  return bus_library.message_append_basic(message, 'i', &value);
}
int cbus_append_bytes(cbus_message *message, const void *bytes, size_t count) {
  return bus_library.message_append_array(message, 'y', bytes, count);
}
int cbus_open(cbus_message *message, char type, const char *contents) {
  return bus_library.message_open_container(message, type, contents);
}
int cbus_end(cbus_message *message) { return bus_library.message_close_container(message); }

int cbus_read_text(cbus_message *message, char type, const char **text) {
  return bus_library.message_read_basic(message, type, text);
}
int cbus_read_bool(cbus_message *message, bool *value) {
  int wide = 0;
  int result = bus_library.message_read_basic(message, 'b', &wide);
  *value = wide;
  return result;
}
int cbus_read_u32(cbus_message *message, uint32_t *value) {
  return bus_library.message_read_basic(message, 'u', value);
}
int cbus_read_bytes(cbus_message *message, const void **bytes, size_t *count) {
  return bus_library.message_read_array(message, 'y', bytes, count);
}
int cbus_enter(cbus_message *message, char type, const char *contents) {
  return bus_library.message_enter_container(message, type, contents);
}
int cbus_leave(cbus_message *message) { return bus_library.message_exit_container(message); }
int cbus_skip(cbus_message *message, const char *types) { return bus_library.message_skip(message, types); }

int cbus_next(cbus *bus, cbus_message **message) {
  *message = NULL;
  int result = bus_library.process(bus, message);
  return result > 0 ? 1 : result;
}
int cbus_descriptor(cbus *bus) { return bus_library.get_fd(bus); }
int cbus_events(cbus *bus) { return bus_library.get_events(bus); }

const char *cbus_sender(cbus_message *message) { return bus_library.message_get_sender(message); }
const char *cbus_path(cbus_message *message) { return bus_library.message_get_path(message); }
const char *cbus_interface(cbus_message *message) { return bus_library.message_get_interface(message); }
const char *cbus_member(cbus_message *message) { return bus_library.message_get_member(message); }
bool cbus_is_signal(cbus_message *message) { return bus_library.message_is_signal(message, NULL, NULL) > 0; }

int cbus_read_descriptor(cbus_message *message, int *descriptor) {
  int lent;
  int result = bus_library.message_read_basic(message, 'h', &lent);
  if (result <= 0) return result;
  *descriptor = fcntl(lent, F_DUPFD_CLOEXEC, 3);
  return *descriptor < 0 ? -errno : 1;
}
