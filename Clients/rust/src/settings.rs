use std::path::PathBuf;
use std::time::Duration;

use crate::generated::PROTOCOL;
use crate::locate::default_socket_path;
use crate::{starting, AgentHelloParams, ClientIdentity, Result, Secret};

/// The limit for connecting and `agent.hello`, also for each reconnection of a stream: longer than a start.
pub(crate) const CONNECT: Duration = Duration::from_secs(12);

/// How a client finds its agent, and what it tells it of itself.
#[derive(Clone)]
pub(crate) struct Settings {
    pub socket: Option<PathBuf>,
    pub start: Option<bool>,
    pub timeout: Option<Duration>,
    pub grant: Option<Secret>,
    pub name: String,
    pub version: String,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            socket: None,
            start: None,
            timeout: None,
            grant: None,
            name: "lanyard-rust".into(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }
}

impl Settings {
    pub fn hello(&self) -> AgentHelloParams {
        let identity = ClientIdentity::new(self.name.as_str(), self.version.as_str());
        AgentHelloParams { grant: self.grant.clone(), ..AgentHelloParams::new(identity).protocol(PROTOCOL) }
    }

    pub fn path(&self) -> Result<PathBuf> {
        self.socket.clone().map_or_else(default_socket_path, Ok)
    }

    /// True if the client may start an agent: told so, or by itself at the socket that it found.
    pub fn may_start(&self) -> bool {
        self.start.unwrap_or(self.socket.is_none()) && !starting::is_forbidden()
    }
}

/// The setters that the builders of both clients have.
macro_rules! settings_methods {
    () => {
        /// The agent's socket. Without it, the one that [`default_socket_path`](crate::default_socket_path) finds.
        #[must_use]
        pub fn socket(mut self, path: impl Into<std::path::PathBuf>) -> Self {
            self.0.socket = Some(path.into());
            self
        }

        /// The limit of every call. Without it, the agent's own limits alone.
        #[must_use]
        pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
            self.0.timeout = Some(timeout);
            self
        }

        /// The secret of a grant, which limits what this client may do.
        #[must_use]
        pub fn grant(mut self, grant: impl Into<crate::Secret>) -> Self {
            self.0.grant = Some(grant.into());
            self
        }

        /// The name by which the agent's audit log calls this program.
        #[must_use]
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.0.name = name.into();
            self
        }

        /// The version of this program, for the audit log.
        #[must_use]
        pub fn version(mut self, version: impl Into<String>) -> Self {
            self.0.version = version.into();
            self
        }

        /// Whether to start the agent where none runs. Without this, only if no `socket` is given, as the commands do.
        /// The variable `LANYARD_NO_START` forbids it in any case.
        #[must_use]
        pub fn start(mut self, start: bool) -> Self {
            self.0.start = Some(start);
            self
        }
    };
}

pub(crate) use settings_methods;
