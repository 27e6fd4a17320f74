#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// D-Bus by sd-bus of libsystemd, which the first connection opens: see README.md. Results below 0 are negative errno
// values; ELIBACC means that libsystemd is missing. A connection and its messages belong to one thread at a time.

typedef struct sd_bus cbus;
typedef struct sd_bus_message cbus_message;

// Times are in microseconds. Connects to a bus by its address (D-Bus Specification, Server Addresses) and waits until
// the bus accepts the connection. Without `takes_descriptors`, messages with descriptors are refused. 0 when `*bus` is
// ready.
int cbus_connect(const char *address, bool takes_descriptors, uint64_t timeout, cbus **bus);
void cbus_close(cbus *bus);

// A new method call, to be filled and sent.
int cbus_new_call(
  cbus *bus, const char *destination, const char *path, const char *interface, const char *member, cbus_message **call);
// Frees a message, which may outlive its bus.
void cbus_free(cbus_message *message);

// Sends a call and waits. 0 and a reply; or a negative errno and, if the service replied with an error, that error's
// name in `error`, cut to `error_size` with its zero, else an empty string. The caller keeps `call`.
int cbus_call(
  cbus *bus, cbus_message *call, uint64_t timeout, cbus_message **reply, char *error, size_t error_size);

// Filling. Types and contents are signatures of the specification. For `s`, `o` and `g`:
int cbus_append_text(cbus_message *message, char type, const char *text);
int cbus_append_bool(cbus_message *message, bool value);
int cbus_append_u32(cbus_message *message, uint32_t value);
int cbus_append_i32(cbus_message *message, int32_t value);
int cbus_append_bytes(cbus_message *message, const void *bytes, size_t count);
int cbus_open(cbus_message *message, char type, const char *contents);
int cbus_end(cbus_message *message);

// Reading, in order. Text and bytes live as long as the message. 1 when a value was read, 0 at the end of a container.
int cbus_read_text(cbus_message *message, char type, const char **text);
int cbus_read_bool(cbus_message *message, bool *value);
int cbus_read_u32(cbus_message *message, uint32_t *value);
int cbus_read_bytes(cbus_message *message, const void **bytes, size_t *count);
// A duplicate, which the caller closes.
int cbus_read_descriptor(cbus_message *message, int *descriptor);
int cbus_enter(cbus_message *message, char type, const char *contents);
int cbus_leave(cbus_message *message);
// Skips one or more whole values.
int cbus_skip(cbus_message *message, const char *types);

// Signals. The bus's own method AddMatch takes match rules; matching signals are read here: 1 and a message, 1 and NULL
// for internal work of sd-bus, 0 if there is no more for now, below 0 when the bus is gone.
int cbus_next(cbus *bus, cbus_message **message);
// For poll(2): the descriptor and the events.
int cbus_descriptor(cbus *bus);
int cbus_events(cbus *bus);
// NULL if the message has no such header.
const char *cbus_sender(cbus_message *message);
const char *cbus_path(cbus_message *message);
const char *cbus_interface(cbus_message *message);
const char *cbus_member(cbus_message *message);
bool cbus_is_signal(cbus_message *message);
