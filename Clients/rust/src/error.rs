use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::json::{read_member, Json, Malformed, Reader};
use crate::ErrorCode;

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The agent answered this error.
    Agent(ErrorCode),
    /// No agent accepts connections at the socket.
    AgentNotRunning,
    /// No agent runs, and none could be started. The message says why.
    AgentStartFailed,
    /// The client's time-out ended the call; the client cancelled the request.
    CallTimeout,
    /// The program cancelled the call; the client cancelled the request.
    Cancelled,
    /// The client was used after `close`, or in another process than the one that made it.
    ClientClosed,
    /// The connection ended during the call. The call may have taken effect.
    ConnectionLost,
    /// The URL is not covered by the origins that the program named. Nothing was sent.
    OriginRefused,
    /// The agent violates the contract. The message names the place, never the value.
    ProtocolError,
    /// The request is longer than the agent's limit. It was not sent.
    RequestTooLarge,
    /// Another user's process serves the socket. Nothing was sent to it.
    UntrustedAgent,
}

impl ErrorKind {
    fn name(self) -> &'static str {
        match self {
            ErrorKind::Agent(code) => code.name(),
            ErrorKind::AgentNotRunning => "agentNotRunning",
            ErrorKind::AgentStartFailed => "agentStartFailed",
            ErrorKind::CallTimeout => "callTimeout",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::ClientClosed => "clientClosed",
            ErrorKind::ConnectionLost => "connectionLost",
            ErrorKind::OriginRefused => "originRefused",
            ErrorKind::ProtocolError => "protocolError",
            ErrorKind::RequestTooLarge => "requestTooLarge",
            ErrorKind::UntrustedAgent => "untrustedAgent",
        }
    }
}

/// An error that the agent answered, or a failure of the client.
///
/// `Display` and `Debug` show the message, the name and the code. They hold nothing of `data` or of the request, and
/// the agent never echoes input, so an error may be logged.
#[derive(Clone, PartialEq)]
pub struct Error(Box<Told>);

#[derive(Clone, PartialEq)]
struct Told {
    kind: ErrorKind,
    message: String,
    data: Map<String, Value>,
}

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Told { kind, message: message.into(), data: Map::new() }))
    }

    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::ProtocolError, message)
    }

    pub(crate) fn went_away() -> Self {
        Error::new(ErrorKind::ConnectionLost, "the agent went away")
    }

    pub(crate) fn closed() -> Self {
        Error::new(ErrorKind::ClientClosed, "the client was closed")
    }

    pub(crate) fn cancelled() -> Self {
        Error::new(ErrorKind::Cancelled, "the call was cancelled")
    }

    pub(crate) fn timed_out(message: &str) -> Self {
        Error::new(ErrorKind::CallTimeout, message)
    }

    pub(crate) fn answer(method: &str, malformed: &Malformed) -> Self {
        Error::protocol(format!("the answer of {method} is not what the contract says at {malformed}"))
    }

    /// Reads an error object (JSON-RPC 2.0, section 5.1).
    pub(crate) fn from_answer(text: &str) -> Self {
        match AgentError::from_json(text) {
            Ok(AgentError { code: Some(code), message, data }) => {
                Error(Box::new(Told { kind: ErrorKind::Agent(ErrorCode::from(code)), message, data }))
            }
            Ok(_) => Error::protocol("an error of the agent has no code"),
            Err(_) => Error::protocol("an error of the agent is not an object"),
        }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The JSON-RPC error code; `None` for failures of the client.
    pub fn code(&self) -> Option<i64> {
        match self.0.kind {
            ErrorKind::Agent(code) => Some(code.into()),
            _ => None,
        }
    }

    /// The stable name of the error, such as `reauthenticationRequired`.
    pub fn name(&self) -> &str {
        self.text("name").unwrap_or_else(|| self.0.kind.name())
    }

    /// What happened, what was kept, what to do: for a person.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What the agent told about the error, also members that this version does not know.
    pub fn data(&self) -> &Map<String, Value> {
        &self.0.data
    }

    /// True if the same call may succeed later without the person.
    pub fn retryable(&self) -> bool {
        match self.0.kind {
            ErrorKind::AgentNotRunning | ErrorKind::CallTimeout | ErrorKind::ConnectionLost => true,
            _ => self.0.data.get("retryable") == Some(&Value::Bool(true)),
        }
    }

    /// The pause before the next try that the agent asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.data.get("retryAfterMs").and_then(Value::as_u64).map(Duration::from_millis)
    }

    /// The machine-readable cause within this error, such as `outcomeUnknown`.
    pub fn reason(&self) -> Option<&str> {
        self.text("reason")
    }

    /// What would help, in the order in which to try it: `unlock`, `connect`, `stepUp`, `interact`, `reauthenticate`,
    /// `administrator`.
    pub fn remedies(&self) -> Vec<&str> {
        let told = self.0.data.get("remedies").and_then(Value::as_array);
        told.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The id of the account that the error is about.
    pub fn account(&self) -> Option<&str> {
        self.text("account")
    }

    /// For `invalidParams`, the member that was refused, as a JSON Pointer (RFC 6901).
    pub fn path(&self) -> Option<&str> {
        self.text("path")
    }

    /// For `invalidParams`, what is expected at `path`.
    pub fn expected(&self) -> Option<&str> {
        self.text("expected")
    }

    fn text(&self, member: &str) -> Option<&str> {
        self.0.data.get(member).and_then(Value::as_str)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.message.is_empty() {
            write!(formatter, "{} ", self.0.message)?;
        }
        match self.code() {
            Some(code) => write!(formatter, "[{} ({code})]", self.name()),
            None => write!(formatter, "[{}]", self.name()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Error");
        shown.field("kind", &self.0.kind).field("name", &self.name()).field("message", &self.0.message).finish()
    }
}

impl std::error::Error for Error {}

struct AgentError {
    code: Option<i64>,
    message: String,
    data: Map<String, Value>,
}

impl Json for AgentError {
    fn read(reader: &mut Reader<'_>) -> std::result::Result<Self, Malformed> {
        let (mut code, mut message, mut data) = (None, None, None);
        reader.object(&mut |reader, name| match name {
            "code" => read_member(reader, name, &mut code),
            "message" => read_member(reader, name, &mut message),
            "data" => read_member(reader, name, &mut data),
            _ => reader.skip().map(|_| ()),
        })?;
        Ok(AgentError {
            code: code.as_ref().and_then(Value::as_i64),
            message: message.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(),
            data: match data {
                Some(Value::Object(data)) => data,
                _ => Map::new(),
            },
        })
    }

    fn write(&self, _: &mut crate::json::Writer) {
        unreachable!("a client answers no errors")
    }
}
