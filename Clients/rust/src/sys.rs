//! The system calls that the standard library does not have.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Instant;

use crate::sync::Deadline;

/// Connects to a unix socket without waiting: `WouldBlock` while the listener's queue is full.
pub(crate) fn connect(path: &OsStr) -> io::Result<UnixStream> {
    // SAFETY: all bytes of a `sockaddr_un` may be zero.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let bytes = path.as_bytes();
    if bytes.len() >= address.sun_path.len() || bytes.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is too long for a socket"));
    }
    for (place, byte) in address.sun_path.iter_mut().zip(bytes) {
        *place = *byte as libc::c_char;
    }
    // SAFETY: the descriptor is new, so that the stream is its only owner; the address lives until `connect` returns.
    let stream = unsafe {
        // At once: another thread may start a program meanwhile.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let descriptor = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let descriptor = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
        UnixStream::from(OwnedFd::from_raw_fd(descriptor))
    };
    stream.set_nonblocking(true)?;
    let length = std::mem::size_of::<libc::sockaddr_un>() as libc::socklen_t;
    // SAFETY: as above.
    let status = unsafe { libc::connect(stream.as_raw_fd(), std::ptr::addr_of!(address).cast(), length) };
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(stream)
}

/// The user of the process at the other end.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn peer_user(stream: &UnixStream) -> io::Result<u32> {
    // SAFETY: all bytes of a `ucred` may be zero; the size is that of the value.
    unsafe {
        let mut credentials: libc::ucred = std::mem::zeroed();
        let mut length = std::mem::size_of::<libc::ucred>() as libc::socklen_t;
        let place = std::ptr::addr_of_mut!(credentials).cast();
        match libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, place, &mut length) {
            0 => Ok(credentials.uid),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The user of the process at the other end.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn peer_user(stream: &UnixStream) -> io::Result<u32> {
    let (mut user, mut group) = (0, 0);
    // SAFETY: both places live until the call returns.
    match unsafe { libc::getpeereid(stream.as_raw_fd(), &mut user, &mut group) } {
        0 => Ok(user),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The effective user of this process.
pub(crate) fn user() -> u32 {
    // SAFETY: it always succeeds.
    unsafe { libc::geteuid() }
}

/// Takes the lock of an open file, if no other process has it.
pub(crate) fn try_lock(file: &impl AsRawFd) -> bool {
    // SAFETY: the descriptor is open.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Makes a command run in a session of its own, and its files readable by this user alone.
pub(crate) fn detach(command: &mut Command) {
    // SAFETY: both calls may stand between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            libc::umask(0o077);
            // The agent outlives this program, and must not hold what this one inherited.
            #[cfg(target_os = "linux")]
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 4 /* CLOSE_RANGE_CLOEXEC */);
            Ok(())
        });
    }
}

/// Sends what the socket takes now. A broken connection raises no SIGPIPE.
pub(crate) fn send(stream: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const FLAGS: libc::c_int = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // Elsewhere Rust programs ignore SIGPIPE, if they don't change that.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const FLAGS: libc::c_int = libc::MSG_DONTWAIT;
    // SAFETY: the bytes live until the call returns.
    let count = unsafe { libc::send(stream.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), FLAGS) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// What a descriptor is watched for, and what it is ready for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Readiness {
    pub read: bool,
    pub write: bool,
    pub failed: bool,
}

/// Waits until a descriptor is ready or the deadline has passed.
pub(crate) fn poll<const N: usize>(watched: [(RawFd, Readiness); N], deadline: Deadline) -> [Readiness; N] {
    let mut entries = watched.map(|(fd, interest)| {
        let read = if interest.read { libc::POLLIN } else { 0 };
        let write = if interest.write { libc::POLLOUT } else { 0 };
        libc::pollfd { fd, events: read | write, revents: 0 }
    });
    let timeout = deadline.map_or(-1, |deadline| {
        let remaining = deadline.saturating_duration_since(Instant::now());
        // Rounded up, so that the caller does not spin in the last millisecond.
        libc::c_int::try_from(remaining.as_millis()).unwrap_or(libc::c_int::MAX).min(libc::c_int::MAX - 1)
            + libc::c_int::from(remaining.subsec_nanos() % 1_000_000 != 0)
    });
    // SAFETY: the entries live until the call returns. An interruption counts as no readiness.
    unsafe {
        libc::poll(entries.as_mut_ptr(), N as libc::nfds_t, timeout);
    }
    entries.map(|entry| Readiness {
        read: entry.revents & libc::POLLIN != 0,
        write: entry.revents & libc::POLLOUT != 0,
        failed: entry.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0,
    })
}

/// True if the peer has closed the connection, and nothing that it said is left to read.
#[cfg(feature = "tokio")]
pub(crate) fn has_ended(socket: &UnixStream) -> bool {
    let mut byte = 0_u8;
    let target = std::ptr::addr_of_mut!(byte).cast();
    // SAFETY: one byte is written at most, into `byte`.
    let count = unsafe { libc::recv(socket.as_raw_fd(), target, 1, libc::MSG_PEEK | libc::MSG_DONTWAIT) };
    let is_waiting = |error: io::Error| matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
    count == 0 || count < 0 && !is_waiting(io::Error::last_os_error())
}
