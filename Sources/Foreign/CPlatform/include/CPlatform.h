// What `import Glibc` does not reach, and what must be right in one place.
//
// Convention: a function that can fail returns a negative errno (`-EACCES`), never -1 with errno beside it, so that
// nothing between the call and its check can lose the reason. Every descriptor made here is close-on-exec.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// ---- Sockets (Sockets.c) -------------------------------------------------------------------------------------

/// Accepts a connection: close-on-exec and non-blocking from its first moment. -EAGAIN if nobody waits.
int lanyard_accept4(int listener);

/// The most bytes a socket's path may have; longer ones are reached through their directory's descriptor.
extern const int lanyard_unix_path_limit;

/// Binds a stream socket at `path` with mode 0600 from its first moment, non-blocking, not yet listening.
/// -EADDRINUSE if anything is there: taking over a stale socket is the caller's decision.
int lanyard_bind_unix(const char *path);

/// Connects to the stream socket at `path`. Blocking; -ECONNREFUSED says that nobody listens.
int lanyard_connect_unix(const char *path);

/// Who is at the other end (SO_PEERCRED): 0, or a negative errno. `pid` is 0 if it is of another pid namespace.
int lanyard_peer_credentials(int connection, pid_t *pid, uid_t *uid, gid_t *gid);

// ---- Service managers (ServiceManager.c) ---------------------------------------------------------------------

/// Descriptors handed over by socket activation (sd_listen_fds(3)): how many, from 3 upwards; 0 if none are meant for
/// this process. Each is checked to be a listening unix stream socket (-EINVAL otherwise) and made close-on-exec and
/// non-blocking. The variables are removed from the environment.
int lanyard_listen_fds(void);

/// Tells the service manager (sd_notify(3)), for example "READY=1". 1 if told, 0 if there is none.
int lanyard_notify(const char *state);

// ---- Events (Events.c) ---------------------------------------------------------------------------------------

/// An eventfd for waking a poll: non-blocking.
int lanyard_eventfd(void);
/// Wakes whoever polls it. Safe from any thread and from signal handlers.
void lanyard_eventfd_signal(int fd);
/// Back to quiet. True if it had been signalled.
int lanyard_eventfd_drain(int fd);

/// What is ready, of a set of descriptors of which most are silent: its cost grows with those that speak (epoll(7)).
struct lanyard_ready {
  uint64_t token;
  short events;
};
/// An empty set.
int lanyard_readiness(void);
/// Waits for POLLIN and POLLOUT of a descriptor, as `events` says; POLLERR and POLLHUP always. -EPERM for a plain
/// file, which is always ready.
int lanyard_readiness_add(int set, int fd, short events, uint64_t token);
int lanyard_readiness_change(int set, int fd, short events, uint64_t token);
void lanyard_readiness_remove(int set, int fd);
/// Up to 64 of those that are ready; blocks for `timeout_milliseconds`, for ever if -1. -EINTR for a signal.
int lanyard_readiness_wait(int set, struct lanyard_ready *ready, int capacity, int timeout_milliseconds);

/// A kernel timer on CLOCK_BOOTTIME, unarmed: readable once its deadline has passed.
int lanyard_boot_timer(void);
/// Arms it for a moment of the boot clock, in place of any earlier one.
void lanyard_boot_timer_set(int fd, int64_t deadline_milliseconds);

/// A kernel timer that is readable once the wall clock was set or the machine woke from sleep (timerfd_create(2),
/// TFD_TIMER_CANCEL_ON_SET), and otherwise stays silent.
int lanyard_wall_watch(void);
/// Back to quiet. True if the clock was set.
int lanyard_wall_watch_drain(int fd);

/// Blocks SIGTERM, SIGINT and SIGHUP and returns a non-blocking descriptor that reads them. To be called before any
/// thread is started, since threads inherit the mask of their maker.
int lanyard_signalfd(void);
/// The next signal's number, 0 if there is none.
int lanyard_signalfd_read(int fd);
/// Unblocks all signals: for a child just before it becomes another program.
void lanyard_signals_unblock(void);

// ---- The machine's network (Network.c) ------------------------------------------------------------------------

enum lanyard_network_kind { LANYARD_LINK, LANYARD_ADDRESS, LANYARD_ROUTE, LANYARD_END_OF_LIST };

/// What the kernel says of a link, an address or a route.
struct lanyard_network_news {
  enum lanyard_network_kind kind;
  /// Removed, rather than added or changed.
  int is_gone;
  /// May lead away from this machine: no loopback link and no part of a bridge, an address of more than a link's scope,
  /// a default route.
  int is_outward;
  /// A link that carries, an address that may be used.
  int is_usable;
  /// What tells one from another of its kind.
  uint32_t link;
  uint32_t metric;
  uint8_t family;
  uint8_t address[16];
};

/// A non-blocking netlink socket (rtnetlink(7)) on which the kernel tells of changes to links, addresses and routes.
int lanyard_network_watch(void);
/// Has everything of one kind told on it, changes or not, LANYARD_END_OF_LIST at the end. One list at a time. 0, or a
/// negative errno.
int lanyard_network_list(int fd, enum lanyard_network_kind kind);
/// The most that the kernel sends at once.
enum { LANYARD_NETWORK_BYTES = 32768 };
/// Reads what came: how many bytes. -EAGAIN if nothing waits, -ENOBUFS if so much came that some was lost.
ssize_t lanyard_network_read(int fd, void *bytes, size_t capacity);
/// The next news in bytes that were read, from `offset` on, which moves behind it; 0 if there is no more.
int lanyard_network_next(const void *bytes, size_t count, size_t *offset, struct lanyard_network_news *news);

// ---- Hardening (Hardening.c) ---------------------------------------------------------------------------------

/// No core dump and no tracing by other processes of the same user (PR_SET_DUMPABLE 0), checked by reading back.
int lanyard_deny_dumps(void);
/// A write to a closed peer is an error, not the end of the process.
int lanyard_ignore_sigpipe(void);
/// Fills `bytes` from the kernel's generator; blocks only before the machine has ever had entropy.
int lanyard_random(void *bytes, size_t count);

// ---- Files (Files.c) -----------------------------------------------------------------------------------------

/// A directory itself, not what a symlink points at: O_PATH|O_NOFOLLOW|O_DIRECTORY. -ELOOP or -ENOTDIR for others.
int lanyard_open_directory(const char *path);
/// What stands under a name in a directory, symlinks themselves included, without reading it: O_PATH|O_NOFOLLOW.
int lanyard_open_name(int directory, const char *name);
/// A directory as above, open for reading, so that fsync works on it.
int lanyard_open_directory_for_sync(const char *path);
/// A regular file that belongs to this user and grants nothing to others, read through a descriptor that never was a
/// symlink: the descriptor, or -ELOOP (symlink), -EPERM (owner or mode), -EINVAL (not a regular file).
int lanyard_open_private_file(const char *path, int flags);
/// 0 if `fd` belongs to this user and its mode has no bit outside `allowed`; else -EPERM.
int lanyard_check_owned(int fd, mode_t allowed);
/// Takes an exclusive lock that ends with the descriptor (open file description lock); -EAGAIN if another has it.
int lanyard_lock_file(int fd);
/// The same of a directory (flock(2)); another errno where its file system has no such locks.
int lanyard_lock_directory(int fd);
/// A new file for writing that has no name yet, in the directory behind a descriptor: mode 0600. It is gone with its
/// descriptor unless it gets a name. -EOPNOTSUPP where the file system has none such.
int lanyard_open_unnamed(int directory);
/// Gives such a file its name: -EEXIST if anything stands there.
int lanyard_name_file(int file, int directory, const char *name);
/// Renames within a directory: -EEXIST if anything stands under the new name.
int lanyard_rename_new(int directory, const char *name, const char *new_name);
/// True if `path` still names the file behind `fd` (device and inode).
int lanyard_is_same_file(int fd, const char *path);

// ---- The kernel's user keyring (Keyring.c) -------------------------------------------------------------------

/// Reads a "user" key from the user keyring: its length (at most `capacity` bytes are copied), -ENOKEY if absent,
/// -ENOSYS or -EPERM where the kernel or a sandbox gives none.
ssize_t lanyard_keyring_read(const char *description, void *bytes, size_t capacity);
/// Makes or replaces it. It lasts until the machine restarts or the user's last process ends.
int lanyard_keyring_write(const char *description, const void *bytes, size_t count);
/// Removes it.
int lanyard_keyring_remove(const char *description);

// ---- Clocks (Clocks.c) ---------------------------------------------------------------------------------------

/// Milliseconds since boot, sleep included (CLOCK_BOOTTIME).
int64_t lanyard_boot_milliseconds(void);
/// Milliseconds since 1970 UTC (CLOCK_REALTIME).
int64_t lanyard_wall_milliseconds(void);
/// The kernel's random id of this boot as text, NUL-terminated: 36 characters. 0 or a negative errno.
int lanyard_boot_id(char text[37]);

// ---- Starting the agent (Detach.c) ---------------------------------------------------------------------------

/// Starts `path` in a session of its own that outlives its starter: forked twice, no terminal, working directory `/`,
/// signals reset, all descriptors closed but 0 and 1 (/dev/null), 2 (`error_output`, or /dev/null if -1) and 3
/// (`passed`, if not -1: the write end of a readiness pipe, say). Returns 0 once the program runs, or the negative
/// errno of what kept it from it.
int lanyard_start_detached(
    const char *path, char *const argv[], char *const envp[], int error_output, int passed);

/// From here on a program started detached becomes a child of this process when its starter is gone (PR_SET_CHILD_SUBREAPER,
/// prctl(2)), so that its exit status can be read for as long as this process runs. 0 or a negative errno.
int lanyard_adopt_orphans(void);

// ---- Memory (Memory.c) ---------------------------------------------------------------------------------------

/// Gives back the pages of program and libraries that only the start needed; those in use come back from the page
/// cache as they are touched.
void lanyard_give_back_pages(void);

/// Wipes what calls that have returned left on this thread's stack: libc keeps the stack of a thread that ends for the
/// next one.
void lanyard_wipe_stack(void);
