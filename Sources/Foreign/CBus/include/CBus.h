#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// D-Bus by sd-bus of libsystemd, which is opened by the first connection: see README.md. Results below 0 are negative
// errno values; ELIBACC means that there is no libsystemd. A connection and its messages belong to one thread at a time.

typedef struct sd_bus cbus;
typedef struct sd_bus_message cbus_message;

// Times are in microseconds. Connects to a bus by its address (D-Bus Specification, Server Addresses) and waits for it
// to welcome us. Without `takes_descriptors` none is taken from it. 0 when `*bus` is ready.
int cbus_connect(const char *address, bool takes_descriptors, uint64_t timeout, cbus **bus);
void cbus_close(cbus *bus);

// A method call to be filled and sent.
int cbus_new_call(
  cbus *bus, const char *destination, const char *path, const char *interface, const char *member, cbus_message **call);
// A message lives until it is let go, also after its bus.
void cbus_free(cbus_message *message);

// Sends and waits. 0 and a reply; or below 0, and where the other side answered with an error, that error's name in
// `error`, cut to `error_size` with its zero, else an empty string. Does not take the call.
int cbus_call(
  cbus *bus, cbus_message *call, uint64_t timeout, cbus_message **reply, char *error, size_t error_size);

// Filling. Types and contents are signatures of the specification. `s`, `o` and `g`:
int cbus_append_text(cbus_message *message, char type, const char *text);
int cbus_append_bool(cbus_message *message, bool value);
int cbus_append_u32(cbus_message *message, uint32_t value);
int cbus_append_bytes(cbus_message *message, const void *bytes, size_t count);
int cbus_open(cbus_message *message, char type, const char *contents);
int cbus_end(cbus_message *message);

// Reading, in order. Text and bytes live as long as the message. 1 when it was read, 0 at the end of a container.
int cbus_read_text(cbus_message *message, char type, const char **text);
int cbus_read_bool(cbus_message *message, bool *value);
int cbus_read_u32(cbus_message *message, uint32_t *value);
int cbus_read_bytes(cbus_message *message, const void **bytes, size_t *count);
// The caller's to close.
int cbus_read_descriptor(cbus_message *message, int *descriptor);
int cbus_enter(cbus_message *message, char type, const char *contents);
int cbus_leave(cbus_message *message);
// Past one or more whole values.
int cbus_skip(cbus_message *message, const char *types);

// Signals. Match rules are given to the bus by its own method AddMatch; what they let through comes from here.
// 1 and a message, 1 and NULL for work of sd-bus's own, 0 when there is no more for now, below 0 when the bus is gone.
int cbus_next(cbus *bus, cbus_message **message);
// For poll(2): the descriptor, the events, and when to come back even without them (CLOCK_MONOTONIC, in microseconds;
// UINT64_MAX for never).
int cbus_descriptor(cbus *bus);
int cbus_events(cbus *bus);
uint64_t cbus_deadline(cbus *bus);
// NULL where a message has none.
const char *cbus_sender(cbus_message *message);
const char *cbus_path(cbus_message *message);
const char *cbus_interface(cbus_message *message);
const char *cbus_member(cbus_message *message);
bool cbus_is_signal(cbus_message *message);
