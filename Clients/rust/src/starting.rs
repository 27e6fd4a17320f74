//! Starts the agent as the commands do: one agent for any number of programs that find none (docs/protocol.md,
//! Programs).
//!
//! The program that takes the lock beside the socket starts the agent and holds the lock until the agent answers. Other
//! programs, commands among them, wait for the lock or for an answer.

use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind as Io};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::locate::variable;
use crate::{sys, Error, ErrorKind, Result};

/// A start takes milliseconds; a slow disk or a key derivation may take seconds.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) const PAUSE: Duration = Duration::from_millis(4);

/// The time that another agent may hold the state: it may not listen yet.
const HANDOVER: Duration = Duration::from_secs(4);

const HANDOVER_PAUSE: Duration = Duration::from_millis(30);

/// A larger log is renamed to `agent.log.old` when the next agent starts.
const LARGEST_LOG_BYTES: u64 = 1 << 20;

const LOG_LINES: usize = 3;
const LOG_TAIL_BYTES: u64 = 2_000;

/// The environment of a new agent, the same that a command gives it. The agent outlives this program.
const KEPT_VARIABLES: [&str; 23] = [
    "ALL_PROXY",
    "CURL_CA_BUNDLE",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "HOME",
    "HTTPS_PROXY",
    "LANG",
    "LANYARD_STATE_DIR",
    "LC_ALL",
    "LC_CTYPE",
    "NO_PROXY",
    "PATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

const ALREADY_RUNNING: i32 = 75;

type Connect<'a> = &'a dyn Fn() -> Result<Option<UnixStream>>;
type Pause<'a> = &'a dyn Fn(Duration) -> bool;

/// True if `LANYARD_NO_START` is set to anything but `0`.
pub(crate) fn is_forbidden() -> bool {
    variable("LANYARD_NO_START").map_or(false, |value| value != "0")
}

/// Starts an agent at the socket `path`, or waits for the one that another program starts, and connects to it.
///
/// `None` once `pause` has given up; a started agent goes on.
pub(crate) fn start_agent(path: &Path, connect: Connect<'_>, pause: Pause<'_>) -> Result<Option<UnixStream>> {
    let began = Instant::now();
    let lock = open_lock(path.parent().unwrap_or_else(|| Path::new("/")))?;
    while !sys::try_lock(&lock) {
        if let Some(stream) = connect()? {
            return Ok(Some(stream));
        }
        if pause(PAUSE) {
            return Ok(None);
        }
        if began.elapsed() > PATIENCE {
            let seconds = PATIENCE.as_secs();
            return Err(failure(format!("another program has been starting the agent for {seconds} s")));
        }
    }
    let mut connection = connect()?;
    while connection.is_none() && !pause(Duration::ZERO) {
        connection = Launch::new(path, began)?.first_connection(connect, pause)?;
    }
    Ok(connection)
}

/// One process of the agent, from its start until it answers.
struct Launch {
    began: Instant,
    log: Option<Log>,
    process: Option<Child>,
}

impl Launch {
    fn new(path: &Path, began: Instant) -> Result<Self> {
        let program = agent_program().ok_or_else(|| failure("the program lanyard-agent is not in PATH"))?;
        let log = Log::open();
        let mut command = Command::new(&program);
        command.arg("--socket").arg(path).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(log.as_ref().and_then(|log| log.file.try_clone().ok()).map_or_else(Stdio::null, Stdio::from));
        command.env_clear();
        command.envs(KEPT_VARIABLES.iter().filter_map(|name| variable(name).map(|value| (name, value))));
        sys::detach(&mut command);
        let process = command.spawn().map_err(|error| {
            failure(format!("{} can't be run: {}", program.display(), why_not_run(&program, &error)))
        })?;
        Ok(Launch { began, log, process: Some(process) })
    }

    /// Connects to the new agent, or to one that another program started. `None` if a second launch may succeed.
    fn first_connection(mut self, connect: Connect<'_>, pause: Pause<'_>) -> Result<Option<UnixStream>> {
        loop {
            if let Some(stream) = connect()? {
                return Ok(Some(stream));
            }
            let status = self.process.as_mut().and_then(|process| process.try_wait().ok().flatten());
            let elapsed = self.began.elapsed();
            if let Some(status) = status {
                if status.code() == Some(ALREADY_RUNNING) && elapsed < HANDOVER {
                    return if pause(HANDOVER_PAUSE) { Ok(None) } else { connect() };
                }
                return Err(failure(why_ended(status) + &self.last_words()));
            }
            if elapsed > PATIENCE {
                let seconds = PATIENCE.as_secs();
                return Err(failure(format!("a new agent did not answer within {seconds} s{}", self.last_words())));
            }
            if pause(PAUSE) {
                return Ok(None);
            }
        }
    }

    fn last_words(&self) -> String {
        self.log.as_ref().and_then(Log::last_words).unwrap_or_default()
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // The agent is a child of this program. A thread that waits leaves no zombie when the agent ends first.
            if let Ok(None) = process.try_wait() {
                let _ = thread::Builder::new().name("lanyard-agent".into()).spawn(move || process.wait());
            }
        }
    }
}

/// The path of `lanyard-agent` in `PATH`. Skips relative entries: the choice must not depend on the working directory.
fn agent_program() -> Option<PathBuf> {
    let path = variable("PATH").unwrap_or_else(|| USUAL_PATH.into());
    env::split_paths(&path).filter(|place| place.is_absolute()).map(|place| place.join("lanyard-agent")).find(
        |program| fs::metadata(program).map_or(false, |file| file.is_file() && file.permissions().mode() & 0o111 != 0),
    )
}

/// `agent.log` in the state directory: the stderr of an agent that a program started. Only this user can read it.
struct Log {
    file: File,
    path: PathBuf,
    began_at: u64,
}

impl Log {
    fn open() -> Option<Self> {
        let directory = state_directory()?;
        let path = directory.join("agent.log");
        DirBuilder::new().recursive(true).mode(0o700).create(directory).ok()?;
        if fs::symlink_metadata(&path).map_or(false, |file| file.len() > LARGEST_LOG_BYTES) {
            fs::rename(&path, path.with_extension("log.old")).ok()?;
        }
        let file = open_private(OpenOptions::new().read(true).append(true).create(true), &path).ok()?;
        let began_at = file.metadata().ok()?.len();
        Some(Log { file, path, began_at })
    }

    /// The last lines that the agent wrote since its start, and the path of the log.
    fn last_words(&self) -> Option<String> {
        let size = self.file.metadata().ok()?.len();
        let begin = self.began_at.max(size.saturating_sub(LOG_TAIL_BYTES));
        let mut tail = vec![0; usize::try_from(size.checked_sub(begin)?).ok()?];
        self.file.read_exact_at(&mut tail, begin).ok()?;
        let text = String::from_utf8_lossy(&tail);
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return None;
        }
        let last = lines[lines.len().saturating_sub(LOG_LINES)..].join(" ");
        Some(format!("; it said: {last} (more in {})", self.path.display()))
    }
}

/// `$LANYARD_STATE_DIR`, else `$XDG_STATE_HOME/lanyard`, else `~/.local/state/lanyard`.
fn state_directory() -> Option<PathBuf> {
    let below = |name: &str, rest: &str| variable(name).map(|directory| Path::new(&directory).join(rest));
    variable("LANYARD_STATE_DIR")
        .map(PathBuf::from)
        .or_else(|| below("XDG_STATE_HOME", "lanyard"))
        .or_else(|| below("HOME", ".local/state/lanyard"))
}

fn open_private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

fn open_lock(directory: &Path) -> Result<File> {
    let made = match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != Io::AlreadyExists => Err(error),
        _ => Ok(()),
    };
    let path = directory.join("start.lock");
    made.and_then(|()| open_private(OpenOptions::new().read(true).write(true).create(true), &path)).map_err(|error| {
        failure(format!("the directory {} for its socket can't be written: {error}", directory.display()))
    })
}

/// Knows a program that is there while the dynamic linker of glibc that it names is not.
fn why_not_run(program: &Path, error: &io::Error) -> String {
    if error.kind() == Io::NotFound && program.exists() {
        return "it needs glibc, which is not here, or not in its usual place; systems with musl, as Alpine, are not \
                supported yet"
            .into();
    }
    error.to_string()
}

fn why_ended(status: ExitStatus) -> String {
    match (status.signal(), status.code().unwrap_or_default()) {
        (Some(signal), _) => format!("signal {signal} ended the agent at once"),
        (_, 64) => "the agent did not accept its options or its configuration file (exit 64)".into(),
        (_, 73) => "a directory of the agent can't be created, or others may write to it (exit 73)".into(),
        (_, 74) => "the agent's store can't be read or written (exit 74); nothing was lost".into(),
        (_, 75) => "another agent holds this state directory (exit 75)".into(),
        (_, 76) => {
            "the agent can't open its vault (exit 76): the key is wrong, or the store is damaged, old, foreign, or gone"
                .into()
        }
        (_, code) => format!("the agent ended at once (exit {code})"),
    }
}

fn failure(reason: impl AsRef<str>) -> Error {
    let message = format!("no agent runs, and none could be started: {}", reason.as_ref());
    Error::new(ErrorKind::AgentStartFailed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_whose_dynamic_linker_is_missing_is_told_as_one_that_needs_glibc() {
        let missing = io::Error::from(Io::NotFound);
        assert!(why_not_run(Path::new("/proc/self/exe"), &missing).starts_with("it needs glibc"));
        assert!(!why_not_run(Path::new("/no/such/program"), &missing).contains("glibc"));
        assert!(!why_not_run(Path::new("/proc/self/exe"), &io::Error::from(Io::PermissionDenied)).contains("glibc"));
    }
}
