// What `import Glibc` does not reach.
#ifndef LANYARD_CLIENT_H
#define LANYARD_CLIENT_H

#include <sys/types.h>

/// Tells the user of the process at the other end of a connected unix socket. Returns 0, or -1 with `errno`.
int lanyard_client_peer_user(int socket, uid_t *user);

/// Makes a pipe whose ends do not block and are closed by `exec`. Returns 0, or -1 with `errno`.
int lanyard_client_pipe(int ends[2]);

/// Makes a unix socket that does not block and is closed by `exec`. Returns the descriptor, or -1 with `errno`.
int lanyard_client_socket(void);

/// Starts a program in a session of its own: working directory `/`, umask 077, default signals, no descriptors but the
/// standard ones. Its standard input and output are /dev/null, and its standard error is `log`, or /dev/null if that
/// is negative. `arguments` and `environment` end with NULL. Returns the process id, or `-errno`.
pid_t lanyard_client_start(
    const char *program, char *const arguments[], char *const environment[], int log);

/// Sends bytes without a SIGPIPE. Returns the number of bytes sent, or -1 with `errno`.
ssize_t lanyard_client_send(int socket, const void *bytes, size_t count);

/// Runs `body` with `argument` on a thread of its own, which is not joined. Returns 0, or an error number.
int lanyard_client_thread(void (*body)(void *), void *argument);

/// Overwrites memory with zeros, also if it is not read again.
void lanyard_client_wipe(void *bytes, size_t count);

#endif
