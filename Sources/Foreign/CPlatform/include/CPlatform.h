// Linux functions that `import Glibc` does not reach, and rules that must stand in one place.
//
// A function that can fail returns a negative errno (`-EACCES`), never -1 with errno beside it, so that no call in
// between can overwrite the reason. Every descriptor made here is close-on-exec.
#pragma once

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// ---- Sockets (Sockets.c) -------------------------------------------------------------------------------------

/// Accepts a connection: close-on-exec and non-blocking from the start. -EAGAIN if none waits.
int lanyard_accept4(int listener);

/// The longest path that fits a socket address; longer ones are reached through their directory's descriptor.
extern const int lanyard_unix_path_limit;

/// Binds a stream socket at `path`: mode 0600 from the start, non-blocking, not yet listening. -EADDRINUSE if the path
/// exists: the caller decides whether to remove a stale socket.
int lanyard_bind_unix(const char *path);

/// Connects to the stream socket at `path`. Blocking; -ECONNREFUSED means that no process listens.
int lanyard_connect_unix(const char *path);

/// The credentials of the peer (SO_PEERCRED): 0, or a negative errno. `pid` is 0 if the peer is of another pid
/// namespace.
int lanyard_peer_credentials(int connection, pid_t *pid, uid_t *uid, gid_t *gid);

/// Connects a datagram socket to the one at `path`. Its writes fail with -EAGAIN after `send_milliseconds`.
int lanyard_connect_datagram(const char *path, int send_milliseconds);
/// Sends one datagram: 0, or a negative errno; -EMSGSIZE if it is too large for the socket.
int lanyard_send_datagram(int socket, const void *bytes, size_t count);
/// Sends a datagram that is too large as journald takes it: without bytes, and with the descriptor of a sealed file in
/// memory (systemd.io/JOURNAL_NATIVE_PROTOCOL).
int lanyard_send_memory_file(int socket, const void *bytes, size_t count);

// ---- Changes of files (Events.c) --------------------------------------------------------------------------------

/// A non-blocking descriptor that is readable after a file in this directory was written or renamed (inotify(7)).
int lanyard_watch_directory(const char *path);
/// A non-blocking descriptor that is readable after this file was removed, renamed or got other attributes.
int lanyard_watch_file(const char *path);
/// Resets it. True if there was a change.
int lanyard_watch_drain(int fd);

// ---- Service managers (ServiceManager.c) ---------------------------------------------------------------------

/// Descriptors passed by socket activation (sd_listen_fds(3)): how many, from 3 upwards; 0 if none are for this
/// process. Checks that each is a listening unix stream socket (-EINVAL otherwise) and makes it close-on-exec and
/// non-blocking. Removes the variables from the environment.
int lanyard_listen_fds(void);

/// Notifies the service manager (sd_notify(3)), for example "READY=1". 1 if sent, 0 if there is no service manager.
int lanyard_notify(const char *state);

// ---- Events (Events.c) ---------------------------------------------------------------------------------------

/// Both ends of a pipe, which do not block. 0, or a negative error number.
int lanyard_pipe(int ends[2]);
/// Moves up to `count` bytes between a pipe and a socket without copying them (splice(2)). How many; 0 at the end of the source;
/// a negative error number, -EAGAIN where nothing can be moved now.
ssize_t lanyard_splice(int source, int target, size_t count);
/// An eventfd for waking a poll: non-blocking.
int lanyard_eventfd(void);
/// Wakes every poller of the eventfd. Safe from any thread and from signal handlers.
void lanyard_eventfd_signal(int fd);
/// Resets it. True if it had been signalled.
int lanyard_eventfd_drain(int fd);

/// A ready descriptor of a set. Waiting costs in proportion to the ready ones, not to the silent ones (epoll(7)).
struct lanyard_ready {
  uint64_t token;
  short events;
};
/// Creates an empty set.
int lanyard_readiness(void);
/// Adds a descriptor for the POLLIN and POLLOUT in `events`, and always for POLLERR and POLLHUP. -EPERM for a plain
/// file, which is always ready.
int lanyard_readiness_add(int set, int fd, short events, uint64_t token);
int lanyard_readiness_change(int set, int fd, short events, uint64_t token);
void lanyard_readiness_remove(int set, int fd);
/// Returns up to 64 ready descriptors; blocks for `timeout_milliseconds`, without limit if -1. -EINTR for a signal.
int lanyard_readiness_wait(int set, struct lanyard_ready *ready, int capacity, int timeout_milliseconds);

/// A kernel timer on CLOCK_BOOTTIME, unarmed: readable once its deadline has passed.
int lanyard_boot_timer(void);
/// Arms it for a moment of the boot clock, and replaces an earlier one.
void lanyard_boot_timer_set(int fd, int64_t deadline_milliseconds);

/// A kernel timer that becomes readable only when the wall clock is set or the machine wakes from sleep
/// (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET).
int lanyard_wall_watch(void);
/// Resets it. True if the clock was set.
int lanyard_wall_watch_drain(int fd);

/// Blocks SIGTERM, SIGINT and SIGHUP and returns a non-blocking descriptor that reads them. Call it before the first
/// thread starts, since a thread inherits its creator's mask.
int lanyard_signalfd(void);
/// The number of the next signal, 0 if there is none.
int lanyard_signalfd_read(int fd);
/// Blocks SIGCHLD and the signals that a program passes on to one that it runs, and returns a non-blocking descriptor
/// that reads them.
int lanyard_child_signalfd(void);
/// The number of the next signal, 0 if there is none. `is_from_program` is 0 for one that the terminal sent.
int lanyard_child_signalfd_read(int fd, int *is_from_program);
/// Unblocks all signals, in a child before exec.
void lanyard_signals_unblock(void);

// ---- The machine's network (Network.c) ------------------------------------------------------------------------

enum lanyard_network_kind { LANYARD_LINK, LANYARD_ADDRESS, LANYARD_ROUTE, LANYARD_END_OF_LIST };

/// The kernel's report about a link, an address or a route.
struct lanyard_network_news {
  enum lanyard_network_kind kind;
  /// The entry was removed, rather than added or changed.
  int is_gone;
  /// May lead away from this machine: a link that is neither loopback nor part of a bridge, an address of more than
  /// link scope, a default route.
  int is_outward;
  /// A link that carries; an address that may be used.
  int is_usable;
  /// Identifies an entry among those of its kind.
  uint32_t link;
  uint32_t metric;
  uint8_t family;
  uint8_t address[16];
};

/// A non-blocking netlink socket (rtnetlink(7)) that reports changes of links, addresses and routes.
int lanyard_network_watch(void);
/// Requests a list of all entries of one kind on the socket, ended by LANYARD_END_OF_LIST. One list at a time. 0, or a
/// negative errno.
int lanyard_network_list(int fd, enum lanyard_network_kind kind);
/// The largest message of the kernel.
enum { LANYARD_NETWORK_BYTES = 32768 };
/// Reads messages; returns how many bytes. -EAGAIN if none waits, -ENOBUFS if the kernel dropped some.
ssize_t lanyard_network_read(int fd, void *bytes, size_t capacity);
/// The next entry in bytes that were read, from `offset` on, which moves behind it; 0 if there is no more.
int lanyard_network_next(const void *bytes, size_t count, size_t *offset, struct lanyard_network_news *news);

// ---- Hardening (Hardening.c) ---------------------------------------------------------------------------------

/// Forbids core dumps and tracing by other processes of the same user (PR_SET_DUMPABLE 0), and checks by reading back.
int lanyard_deny_dumps(void);
/// This process and its children gain no privileges by a set-user-ID program (PR_SET_NO_NEW_PRIVS, prctl(2)). 0 or a
/// negative errno.
int lanyard_deny_new_privileges(void);
/// Raises the soft limit of locked memory (RLIMIT_MEMLOCK, setrlimit(2)) to the hard one.
void lanyard_raise_memory_lock_limit(void);
/// Whether this process may lock so many bytes (RLIMIT_MEMLOCK). Takes no page: MLOCK_ONFAULT, mlock2(2).
bool lanyard_may_lock_memory(size_t count);
/// Raises the soft limit of open descriptors (RLIMIT_NOFILE, setrlimit(2)) to `count`, or to the hard one. Returns the
/// soft limit.
uint64_t lanyard_raise_descriptor_limit(uint64_t count);
/// Ignores SIGPIPE: a write to a closed peer is then an error and does not end the process.
int lanyard_ignore_sigpipe(void);
/// Fills `bytes` from the kernel's generator; blocks only until the generator is first seeded.
int lanyard_random(void *bytes, size_t count);

// ---- Files (Files.c) -----------------------------------------------------------------------------------------

/// Opens a directory and never a symlink to one: O_PATH|O_NOFOLLOW|O_DIRECTORY. -ELOOP or -ENOTDIR for anything else.
int lanyard_open_directory(const char *path);
/// Opens a name in a directory, a symlink as itself, without read access: O_PATH|O_NOFOLLOW.
int lanyard_open_name(int directory, const char *name);
struct lanyard_file_identity {
  uint64_t device, inode;
};
/// Tells the file of a name, a symlink as itself. Asks for no times: since Linux 6.13, after a question for them, the kernel
/// gives the next write a new one, and the sync of that write may have to write the inode, too.
bool lanyard_identify(const char *path, struct lanyard_file_identity *identity);
/// Opens a directory for reading, so that fsync works on it; never a symlink.
int lanyard_open_directory_for_sync(const char *path);
/// Takes an exclusive lock that ends with the descriptor (open file description lock); -EAGAIN if another has it.
int lanyard_lock_file(int fd);
/// True if another open file has that lock. Takes none.
bool lanyard_file_is_locked(int fd);
/// Locks a directory (flock(2)); another errno if its file system has no such locks.
int lanyard_lock_directory(int fd);
/// A new file for writing without a name, of mode 0600, in the directory of a descriptor. It vanishes with its
/// descriptor unless it gets a name. -EOPNOTSUPP if the file system has no unnamed files.
int lanyard_open_unnamed(int directory);
/// Gives such a file its name: -EEXIST if the name exists.
int lanyard_name_file(int file, int directory, const char *name);
/// Renames within a directory: -EEXIST if the new name exists.
int lanyard_rename_new(int directory, const char *name, const char *new_name);
/// A file in memory for reading and writing (memfd_create(2)), close-on-exec.
int lanyard_memory_file(const char *name);
/// True if `path` still names the file of `fd` (device and inode).
int lanyard_is_same_file(int fd, const char *path);

// ---- The kernel's user keyring (Keyring.c) -------------------------------------------------------------------

/// Reads a "user" key from the user keyring: its length (at most `capacity` bytes are copied), -ENOKEY if absent,
/// -ENOSYS or -EPERM if the kernel or a sandbox refuses.
ssize_t lanyard_keyring_read(const char *description, void *bytes, size_t capacity);
/// Creates or replaces the key. It lasts until the machine restarts or the user's last process ends.
int lanyard_keyring_write(const char *description, const void *bytes, size_t count);
/// Removes the key.
int lanyard_keyring_remove(const char *description);

// ---- Clocks (Clocks.c) ---------------------------------------------------------------------------------------

/// Milliseconds since boot, sleep included (CLOCK_BOOTTIME).
int64_t lanyard_boot_milliseconds(void);
/// Milliseconds since 1970 UTC (CLOCK_REALTIME).
int64_t lanyard_wall_milliseconds(void);
/// The kernel's random id of this boot as text: 36 characters and a NUL. 0 or a negative errno.
int lanyard_boot_id(char text[37]);

// ---- Children (Spawning.c) -----------------------------------------------------------------------------------

/// The last file action of every spawn: the child has no descriptor above 2. Libraries make descriptors that are not
/// close-on-exec (libcurl's connections). 0 or a negative errno.
int lanyard_spawn_closes_others(posix_spawn_file_actions_t *actions);

// ---- Starting the agent (Detach.c) ---------------------------------------------------------------------------

/// Starts `path` in a new session that outlives the calling process: forked twice, no terminal, working directory `/`,
/// signals reset, all descriptors closed but 0 and 1 (/dev/null), 2 (`error_output`, or /dev/null if -1) and 3
/// (`passed` if not -1, for example the write end of a readiness pipe). Returns 0 once the program runs, or the
/// negative errno of the step that failed.
int lanyard_start_detached(
    const char *path, char *const argv[], char *const envp[], int error_output, int passed);

/// Makes this process adopt programs that were started detached (PR_SET_CHILD_SUBREAPER, prctl(2)), so that it can read
/// their exit status. 0 or a negative errno.
int lanyard_adopt_orphans(void);

/// A descriptor of a process (pidfd_open(2)), readable once it has ended. -ESRCH if there is none, -ENOSYS before
/// Linux 5.3.
int lanyard_process_open(pid_t pid);

// ---- Memory (Memory.c) ---------------------------------------------------------------------------------------

/// Returns to the kernel the pages of program and libraries that only the start needed; those in use come back from the
/// page cache when they are touched.
void lanyard_give_back_pages(void);
/// At most `count` heaps for all threads (M_ARENA_MAX, mallopt(3)); else each thread may get one. Call it before the second.
void lanyard_limit_heaps(int count);
/// Returns to the kernel what the heaps hold and no one uses (malloc_trim(3)).
void lanyard_give_back_heap(void);

// ---- Threads (Threads.c) -------------------------------------------------------------------------------------

/// Runs `body(context)` on a detached thread that takes no signals: 0, or a negative errno. The thread wipes its stack
/// when `body` has returned, since libc keeps that stack for the next thread. No other code of this project creates
/// threads.
int lanyard_start_thread(void (*body)(void *context), void *context);

/// Depths of calls whose stack is wiped.
enum {
  /// The agent's own functions.
  LANYARD_STACK_OF_AGENT = 48 << 10,
  /// libcurl, TLS and other libraries.
  LANYARD_STACK_OF_LIBRARIES = 128 << 10,
};

/// Overwrites `bytes` of this thread's stack below the caller's frame, which calls that have returned used.
/// Clears the vector registers, too.
void lanyard_wipe_stack(size_t bytes);

/// Clears this thread's vector registers (Registers.c): the last bytes that it copied.
void lanyard_clear_registers(void);
