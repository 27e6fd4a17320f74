//! Where the agent's socket is, and the first connection to it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind as Io};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::starting::{self, PAUSE};
use crate::{sys, Error, ErrorKind, Result};

/// Finds the socket of this user's agent as the commands do.
///
/// It is `$LANYARD_SOCKET`, else `$XDG_RUNTIME_DIR/lanyard/agent.sock`, else `/run/user/UID/lanyard/agent.sock` if
/// `/run/user/UID` belongs to this user, else `/tmp/lanyard-UID/agent.sock`. The result is its path, whether an agent
/// listens there or not.
///
/// # Errors
/// [`ErrorKind::AgentNotRunning`] if `LANYARD_SOCKET` is a relative path, or `/tmp/lanyard-UID` is not this user's alone.
pub fn default_socket_path() -> Result<PathBuf> {
    if let Some(explicit) = variable("LANYARD_SOCKET") {
        let explicit = PathBuf::from(explicit);
        if !explicit.is_absolute() {
            return Err(Error::new(ErrorKind::AgentNotRunning, "LANYARD_SOCKET must be an absolute path"));
        }
        return Ok(explicit);
    }
    // A relative one is to be ignored (XDG Base Directory Specification).
    let runtime = variable("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|named| named.is_absolute());
    match runtime.or_else(usual_runtime_directory) {
        Some(runtime) => Ok(runtime.join("lanyard/agent.sock")),
        None => Ok(private_directory(Path::new("/tmp"))?.join("agent.sock")),
    }
}

/// `lanyard-UID` in a directory where everyone can make files: what stands there must be this user's alone.
fn private_directory(temporary: &Path) -> Result<PathBuf> {
    let user = sys::user();
    let directory = temporary.join(format!("lanyard-{user}"));
    let private = match fs::symlink_metadata(&directory) {
        Ok(status) => status.is_dir() && status.uid() == user && status.mode() & 0o077 == 0,
        Err(error) => error.kind() == Io::NotFound,
    };
    if private {
        return Ok(directory);
    }
    let message = format!(
        "the agent's socket has no directory: XDG_RUNTIME_DIR is not set, and {} is not a directory that only this \
         user can use",
        directory.display()
    );
    Err(Error::new(ErrorKind::AgentNotRunning, message))
}

/// The value of a variable that is set and not empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// `/run/user/UID` of this user, where a login session has made it.
fn usual_runtime_directory() -> Option<PathBuf> {
    let user = sys::user();
    let usual = PathBuf::from(format!("/run/user/{user}"));
    let owner = fs::symlink_metadata(&usual).ok()?.uid();
    (owner == user).then_some(usual)
}

/// Tries once to connect. `None` while the agent's queue is full, or where `pause` gave up.
///
/// Where no process listens it starts the agent, if `start` is true. `pause` waits, and is true once the caller wants
/// no connection any more.
pub(crate) fn dial(path: &Path, start: bool, pause: &dyn Fn(Duration) -> bool) -> Result<Option<UnixStream>> {
    match connect(path) {
        Ok(stream) => Ok(Some(stream)),
        Err(Refusal::Busy) => Ok(None),
        Err(Refusal::NoAgent(_)) if start => {
            let path = absolute(path);
            let connect_again = || loop {
                match connect(&path) {
                    Ok(stream) => return Ok(Some(stream)),
                    Err(Refusal::Busy) if pause(PAUSE) => return Ok(None),
                    Err(Refusal::Busy) => {}
                    Err(Refusal::NoAgent(_)) => return Ok(None),
                    Err(Refusal::Failed(error)) => return Err(error),
                }
            };
            starting::start_agent(&path, &connect_again, pause)
        }
        Err(Refusal::NoAgent(error)) => Err(not_running(path, &error)),
        Err(Refusal::Failed(error)) => Err(error),
    }
}

enum Refusal {
    /// The listener's queue is full.
    Busy,
    /// No process listens, so that an agent may be started.
    NoAgent(io::Error),
    Failed(Error),
}

fn connect(path: &Path) -> std::result::Result<UnixStream, Refusal> {
    let stream = sys::connect(path.as_os_str()).map_err(|error| match (error.kind(), error.raw_os_error()) {
        (Io::WouldBlock, _) => Refusal::Busy,
        (Io::NotFound | Io::ConnectionRefused, _) | (_, Some(libc::ENOTDIR)) => Refusal::NoAgent(error),
        _ => Refusal::Failed(not_running(path, &error)),
    })?;
    // Secrets go over this socket. In a directory that others can write, another user may have bound it.
    match sys::peer_user(&stream) {
        Ok(user) if user == sys::user() => Ok(stream),
        Ok(_) => {
            let message = "the agent's socket belongs to another user";
            Err(Refusal::Failed(Error::new(ErrorKind::UntrustedAgent, message)))
        }
        Err(error) => Err(Refusal::Failed(not_running(path, &error))),
    }
}

fn not_running(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorKind::AgentNotRunning, format!("no agent answers at {}: {error}", path.display()))
}

fn absolute(path: &Path) -> PathBuf {
    match env::current_dir() {
        Ok(directory) => directory.join(path),
        Err(_) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{symlink, PermissionsExt};

    #[test]
    fn without_a_session_the_socket_is_in_a_directory_of_this_user_alone() {
        let place = env::temp_dir().join(format!("lanyard-locate-{}", std::process::id()));
        fs::create_dir(&place).unwrap();
        let directory = place.join(format!("lanyard-{}", sys::user()));
        assert_eq!(private_directory(&place).unwrap(), directory);
        for (mode, taken) in [(0o700, true), (0o710, false)] {
            let _ = fs::create_dir(&directory);
            fs::set_permissions(&directory, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(private_directory(&place).is_ok(), taken, "{mode:o}");
        }
        fs::remove_dir(&directory).unwrap();
        symlink(&place, &directory).unwrap();
        assert!(private_directory(&place).is_err());
        fs::remove_dir_all(&place).unwrap();
    }
}
