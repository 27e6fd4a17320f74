use std::fmt;
use std::process;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::feed::{pause, Feed};
use crate::json::Json;
use crate::link::{Link, Terms};
use crate::locate::dial;
use crate::settings::{settings_methods, Settings, CONNECT};
use crate::sync::{at_most, lock, Deadline, Flag, Gate};
use crate::{AgentHelloResult, Cancellation, Error, ErrorKind, EventStream, EventSubscribeParams, Result};

/// How often a caller that waits for another one's connection looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(50);

/// A client for blocking programs. Its clones share one connection, which any number of threads may use.
///
/// It connects at the first call (or at [`connect`](Client::connect)) and sends `agent.hello`. If a call finds the
/// connection closed, it connects again. A call that was in flight is never sent twice: it fails with
/// [`ErrorKind::ConnectionLost`].
///
/// After a fork, the child makes a client of its own: calls of the inherited one fail with
/// [`ErrorKind::ClientClosed`], and do not disturb the parent.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    timeout: Option<Duration>,
    cancellation: Option<Cancellation>,
}

/// Makes a [`Client`] with other settings than the usual ones.
#[derive(Clone, Default)]
pub struct ClientBuilder(Settings);

struct Shared {
    settings: Settings,
    process: u32,
    link: Mutex<Option<Arc<Link>>>,
    /// The connection that waits for the answer to `agent.hello`.
    greeting: Mutex<Option<Arc<Link>>>,
    connecting: Gate,
    hello: Mutex<Option<Value>>,
    closed: Flag,
}

impl ClientBuilder {
    settings_methods!();

    /// The client, which has not connected yet.
    pub fn build(self) -> Client {
        let timeout = self.0.timeout;
        let shared = Shared {
            settings: self.0,
            process: process::id(),
            link: Mutex::new(None),
            greeting: Mutex::new(None),
            connecting: Gate::default(),
            hello: Mutex::new(None),
            closed: Flag::default(),
        };
        Client { shared: Arc::new(shared), timeout, cancellation: None }
    }
}

impl Client {
    /// A client of this user's agent, which it starts at the first call if none runs.
    pub fn new() -> Self {
        ClientBuilder::default().build()
    }

    /// Other settings.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Connects now.
    ///
    /// # Errors
    /// - [`ErrorKind::AgentNotRunning`]: no agent listens, and none may be started.
    /// - [`ErrorKind::AgentStartFailed`]: an agent could not be started; the message says why.
    /// - [`ErrorKind::UntrustedAgent`]: another user serves the socket. Nothing was sent to it.
    /// - [`ErrorKind::CallTimeout`]: the agent did not accept the connection, or did not answer `agent.hello`.
    /// - [`ErrorCode::UnsupportedProtocol`](crate::ErrorCode::UnsupportedProtocol): the agent speaks another version.
    /// - [`ErrorCode::NotPermitted`](crate::ErrorCode::NotPermitted): the agent does not know the grant.
    pub fn connect(&self) -> Result<()> {
        self.connected(self.terms(self.timeout), true).map(|_| ())
    }

    /// The answer to `agent.hello` on the latest connection: the agent's name, version, features and limits. Connects if
    /// the client has not done so yet.
    ///
    /// # Errors
    /// As [`connect`](Client::connect).
    pub fn hello(&self) -> Result<AgentHelloResult> {
        if lock(&self.shared.hello).is_none() {
            self.connect()?;
        }
        told(&lock(&self.shared.hello))
    }

    /// Makes a raw call, in JSON as on the wire. `Value::Null` stands for no params.
    ///
    /// The result has its secrets in plain text, in memory that is not wiped: the typed methods are for them.
    ///
    /// # Errors
    /// The agent's error, or a failure of the client.
    pub fn call(&self, method: &str, params: &Value) -> Result<Value> {
        self.invoke(method, given(params))
    }

    /// This client with another time-out: `client.within(Duration::from_secs(2)).token().get("work")`.
    #[must_use]
    pub fn within(&self, timeout: Duration) -> Client {
        Client { timeout: Some(timeout), ..self.clone() }
    }

    /// This client, whose calls end when `cancellation` is cancelled.
    #[must_use]
    pub fn cancelled_by(&self, cancellation: &Cancellation) -> Client {
        Client { cancellation: Some(cancellation.clone()), ..self.clone() }
    }

    /// Subscribes, and returns a stream of events that survives reconnections.
    ///
    /// After the agent went away the stream waits for the next one, and starts none.
    ///
    /// # Errors
    /// As [`call`](Client::call).
    pub fn events(&self, wanted: EventSubscribeParams) -> Result<EventStream> {
        EventStream::subscribed(self.clone(), wanted)
    }

    /// Ends the connection, for all clones. Calls in flight fail with [`ErrorKind::ClientClosed`].
    pub fn close(&self) {
        self.shared.close();
    }

    pub(crate) fn invoke<P: Json, R: Json>(&self, method: &str, params: Option<&P>) -> Result<R> {
        let terms = self.terms(self.timeout);
        self.connected(terms, true)?.call(method, params, terms, None)?.read(method)
    }

    /// Subscribes a feed, on a connection that an agent may be started for.
    pub(crate) fn subscribe(&self, feed: &Arc<Feed>, starts: bool, deadline: Deadline) -> Result<Arc<Link>> {
        let terms = Terms { deadline: Some(at_most(deadline, CONNECT)), ..self.terms(None) };
        let link = self.connected(terms, starts)?;
        link.call("event.subscribe", Some(&feed.params()), terms, Some(Arc::clone(feed)))?;
        Ok(link)
    }

    pub(crate) fn is_current(&self, link: &Arc<Link>) -> bool {
        lock(&self.shared.link).as_ref().map_or(false, |current| Arc::ptr_eq(current, link))
    }

    /// True in a child of a fork, which shares the parent's connection.
    pub(crate) fn is_inherited(&self) -> bool {
        self.shared.process != process::id()
    }

    fn terms(&self, limit: Option<Duration>) -> Terms<'_> {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        Terms { deadline, cancellation: self.cancellation.as_ref() }
    }

    /// The link, opened if it must be. `starts` is false for a connection that is not worth starting an agent.
    fn connected(&self, terms: Terms<'_>, starts: bool) -> Result<Arc<Link>> {
        let shared = &*self.shared;
        if self.is_inherited() {
            let message = "the client belongs to another process: make a client after the fork";
            return Err(Error::new(ErrorKind::ClientClosed, message));
        }
        if let Some(link) = shared.current() {
            return Ok(link);
        }
        // The agent answers `agent.hello` at once, or hangs.
        let terms = Terms { deadline: Some(at_most(terms.deadline, CONNECT)), ..terms };
        let _passage = loop {
            // Looks for a cancellation, which does not wake those that wait here.
            if let Some(passage) = shared.connecting.enter(Some(at_most(terms.deadline, LOOK))) {
                break passage;
            }
            if shared.closed.is_raised() {
                return Err(Error::closed());
            }
            terms.check("the agent did not accept the connection in time")?;
        };
        if shared.closed.is_raised() {
            return Err(Error::closed());
        }
        if let Some(link) = shared.current() {
            return Ok(link);
        }
        let link = Arc::new(self.dial(terms, starts && shared.settings.may_start())?);
        *lock(&shared.greeting) = Some(Arc::clone(&link));
        if shared.closed.is_raised() {
            shared.close();
        }
        let greeted = link.greet(&shared.settings.hello(), terms);
        *lock(&shared.greeting) = None;
        match greeted {
            Ok(hello) => *lock(&shared.hello) = Some(hello),
            Err(error) => {
                link.close(Error::went_away());
                return Err(error);
            }
        }
        *lock(&shared.link) = Some(Arc::clone(&link));
        if shared.closed.is_raised() {
            shared.close();
            return Err(Error::closed());
        }
        Ok(link)
    }

    fn dial(&self, terms: Terms<'_>, starts: bool) -> Result<Link> {
        let path = self.shared.settings.path()?;
        let given_up = |message: &str| {
            if self.shared.closed.is_raised() {
                return Err(Error::closed());
            }
            terms.check(message)
        };
        let wait = |time: Duration| {
            self.shared.closed.wait_until(at_most(terms.deadline, time));
            given_up("").is_err()
        };
        let mut attempt = 0;
        loop {
            if let Some(stream) = dial(&path, starts, &wait)? {
                return Link::new(stream)
                    .map_err(|error| Error::new(ErrorKind::AgentNotRunning, format!("no connection: {error}")));
            }
            wait(pause(attempt));
            given_up("the agent did not accept the connection in time")?;
            attempt += 1;
        }
    }
}

impl Default for Client {
    fn default() -> Self {
        Client::new()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.shared.closed.is_raised() { "closed" } else { "open" };
        write!(formatter, "Client({state})")
    }
}

impl Shared {
    fn current(&self) -> Option<Arc<Link>> {
        let link = lock(&self.link).clone()?;
        link.is_alive().then_some(link)
    }

    fn close(&self) {
        self.closed.raise();
        for place in [&self.link, &self.greeting] {
            let link = lock(place).take();
            if let Some(link) = link {
                link.close(Error::closed());
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A child of a fork has the socket, too: to shut it down would end the parent's connection.
        if self.process == process::id() {
            self.close();
        }
    }
}

/// The params of a raw call; `None` if there are none.
pub(crate) fn given(params: &Value) -> Option<&Value> {
    match params {
        Value::Null => None,
        Value::Object(members) if members.is_empty() => None,
        _ => Some(params),
    }
}

pub(crate) fn told(hello: &Option<Value>) -> Result<AgentHelloResult> {
    let text = hello.as_ref().unwrap_or(&Value::Null).to_json();
    AgentHelloResult::from_json(&text).map_err(|malformed| Error::answer("agent.hello", &malformed))
}
