// What takes rights away from the agent's process after its start, and the process that keeps them: Landlock, a filter of
// system calls, the broker. docs/callers.md, Confinement.
//
// A function that can fail returns a negative errno.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// ---- Files (Landlock.c) --------------------------------------------------------------------------------------

/// Rights to files (landlock(7), LANDLOCK_ACCESS_FS_*), beneath a directory or of one file.
enum {
  LANYARD_FILE_EXECUTE = 1 << 0,
  LANYARD_FILE_WRITE = 1 << 1,
  LANYARD_FILE_READ = 1 << 2,
  LANYARD_FILE_LIST = 1 << 3,
  LANYARD_FILE_REMOVE_DIRECTORY = 1 << 4,
  LANYARD_FILE_REMOVE = 1 << 5,
  LANYARD_FILE_MAKE_CHARACTER_DEVICE = 1 << 6,
  LANYARD_FILE_MAKE_DIRECTORY = 1 << 7,
  LANYARD_FILE_MAKE = 1 << 8,
  LANYARD_FILE_MAKE_SOCKET = 1 << 9,
  LANYARD_FILE_MAKE_FIFO = 1 << 10,
  LANYARD_FILE_MAKE_BLOCK_DEVICE = 1 << 11,
  LANYARD_FILE_MAKE_SYMLINK = 1 << 12,
  LANYARD_FILE_REFER = 1 << 13,
  LANYARD_FILE_TRUNCATE = 1 << 14,
  LANYARD_FILE_DEVICE_CONTROL = 1 << 15,
};

/// Rights to TCP (landlock(7), LANDLOCK_ACCESS_NET_*): for connections that begin here, and ports that are taken from now on.
enum {
  LANYARD_TCP_BIND = 1 << 0,
  LANYARD_TCP_CONNECT = 1 << 1,
};

/// LANDLOCK_SCOPE_SIGNAL: signals reach this process only.
enum { LANYARD_SCOPE_SIGNAL = 1 << 1 };

/// The version of Landlock that the kernel offers: 0 without it.
int lanyard_landlock_version(void);

struct lanyard_file_rule {
  const char *path;
  uint64_t rights;
};

/// From now on this thread, and those that it starts, have of the `handled` rights only what a rule grants, and of the `network`
/// rights none. A rule whose path does not exist grants nothing. Needs `no_new_privs`. 0 or a negative errno, and then nothing is restricted.
int lanyard_landlock_restrict(
    uint64_t handled, uint64_t network, uint64_t scoped, const struct lanyard_file_rule *rules, size_t count);

// ---- System calls (Filter.c) ---------------------------------------------------------------------------------

/// From now on the kernel refuses the calls of Filter.c to every thread of this process. Needs `no_new_privs`. 0 or a
/// negative errno, and then nothing is refused.
int lanyard_filter_install(void);

// ---- The sandbox (SandboxFilter.c, SandboxEntry.c) -----------------------------------------------------------

/// A descriptor, close-on-exec, from which bwrap(1) reads the filter of a sandbox (`--seccomp`): the kernel refuses the calls of
/// SandboxFilter.c. Or a negative errno.
int lanyard_sandbox_filter(void);

/// In a sandbox, before its command: listens at `port` of 127.0.0.1 there, sends that socket to the other end of `channel`, and
/// waits until that end has taken it; `channel` -1: none of this. Then lets signals through again, and has every descriptor but 0,
/// 1 and 2 closed when the command starts. 0 or a negative errno; -EPIPE if the other end is gone.
int lanyard_sandbox_enter(int channel, uint16_t port);

// ---- The broker (Broker.c) -----------------------------------------------------------------------------------

enum {
  /// The longest request and the longest answer.
  LANYARD_BROKER_BYTES = 8192,
};

/// Performs a request in a process of its own, which ends when this returns. `reply` is the other end of the asking
/// thread's socket; `handed` is a descriptor that came with the request, or -1.
typedef void (*lanyard_broker_work)(
    uint32_t kind, const char *text, size_t length, int reply, int handed, const void *context);

/// Forks the broker: a process that outlives none of the agent's descriptors, and that `argument` names in lists of
/// processes. Returns the agent's end, close-on-exec, or a negative errno. No thread may have been started.
int lanyard_broker_start(lanyard_broker_work work, const void *context, char **arguments);

/// Sends a request, and returns the asking thread's end of the socket for its answer: a negative errno if there is no
/// broker any more. `handed` is passed along if it is not -1. Receiving the answer fails after `seconds`; 0: never.
int lanyard_broker_ask(int broker, uint32_t kind, const char *text, size_t length, int handed, int seconds);

/// Sends an answer, with a descriptor if it is not -1. 0 or a negative errno.
int lanyard_broker_answer(int reply, const void *bytes, size_t count, int passed);

/// Receives an answer: its length, 0 if the broker ended without one, or a negative errno. `*passed` is the descriptor
/// that came along, or -1.
ssize_t lanyard_broker_receive(int reply, void *bytes, size_t capacity, int *passed);
