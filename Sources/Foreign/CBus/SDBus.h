#pragma once
#include <stddef.h>
#include <stdint.h>

// The part of sd-bus(3) that `CBus.c` calls. Declared here, because the package with the header (libsystemd-dev) is bound
// to one version of libsystemd and upgrades systemd on a machine that is behind. The functions belong to the interface
// of libsystemd.so.0, which does not change. Where the header is installed, a declaration that differs from it does not
// compile.

#if __has_include(<systemd/sd-bus.h>)
#include <systemd/sd-bus.h>
#else
typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;
typedef struct {
  const char *name;
  const char *message;
  int _need_free;
} sd_bus_error;
#define SD_BUS_ERROR_NULL ((const sd_bus_error){NULL, NULL, 0})
#endif

int sd_bus_new(sd_bus **ret);
int sd_bus_set_address(sd_bus *bus, const char *address);
int sd_bus_set_bus_client(sd_bus *bus, int b);
int sd_bus_negotiate_fds(sd_bus *bus, int b);
int sd_bus_start(sd_bus *bus);
int sd_bus_is_ready(sd_bus *bus);
sd_bus *sd_bus_close_unref(sd_bus *bus);

int sd_bus_call(sd_bus *bus, sd_bus_message *m, uint64_t usec, sd_bus_error *ret_error, sd_bus_message **reply);
int sd_bus_process(sd_bus *bus, sd_bus_message **r);
int sd_bus_wait(sd_bus *bus, uint64_t timeout_usec);
int sd_bus_get_fd(sd_bus *bus);
int sd_bus_get_events(sd_bus *bus);
int sd_bus_get_timeout(sd_bus *bus, uint64_t *timeout_usec);
void sd_bus_error_free(sd_bus_error *e);

int sd_bus_message_new_method_call(
  sd_bus *bus, sd_bus_message **m, const char *destination, const char *path, const char *interface,
  const char *member);
sd_bus_message *sd_bus_message_unref(sd_bus_message *m);
int sd_bus_message_append_basic(sd_bus_message *m, char type, const void *p);
int sd_bus_message_append_array(sd_bus_message *m, char type, const void *ptr, size_t size);
int sd_bus_message_open_container(sd_bus_message *m, char type, const char *contents);
int sd_bus_message_close_container(sd_bus_message *m);
int sd_bus_message_read_basic(sd_bus_message *m, char type, void *p);
int sd_bus_message_read_array(sd_bus_message *m, char type, const void **ptr, size_t *size);
int sd_bus_message_enter_container(sd_bus_message *m, char type, const char *contents);
int sd_bus_message_exit_container(sd_bus_message *m);
int sd_bus_message_skip(sd_bus_message *m, const char *types);
int sd_bus_message_is_signal(sd_bus_message *m, const char *interface, const char *member);
const char *sd_bus_message_get_interface(sd_bus_message *m);
const char *sd_bus_message_get_member(sd_bus_message *m);
const char *sd_bus_message_get_path(sd_bus_message *m);
const char *sd_bus_message_get_sender(sd_bus_message *m);
