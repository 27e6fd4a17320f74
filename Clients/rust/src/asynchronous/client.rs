use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::process;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::events::AsyncEventStream;
use super::link::AsyncLink;
use crate::client::{given, told};
use crate::feed::{pause, Feed};
use crate::json::Json;
use crate::locate::dial;
use crate::settings::{settings_methods, Settings, CONNECT};
use crate::sync::{lock, Flag};
use crate::{AgentHelloResult, Error, ErrorKind, EventSubscribeParams, Result};

/// A client for async programs. Its clones share one connection, which any number of tasks may use.
///
/// As [`Client`](crate::Client), with these differences: a call is cancelled in the agent when its future is dropped, and
/// the connection belongs to the runtime in which the client connected, which must have its I/O and time drivers enabled.
///
/// ```no_run
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), lanyard::Error> {
/// let client = lanyard::AsyncClient::new();
/// let token = client.token().get("@active").await?;
/// println!("expires at {}", token.expires_at);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AsyncClient {
    shared: Arc<Shared>,
    timeout: Option<Duration>,
}

/// Makes an [`AsyncClient`] with other settings than the usual ones.
#[derive(Clone, Default)]
pub struct AsyncClientBuilder(Settings);

struct Shared {
    settings: Settings,
    process: u32,
    link: Mutex<Option<Arc<AsyncLink>>>,
    /// The connection that waits, or waited, for the answer to `agent.hello`.
    greeting: Mutex<Weak<AsyncLink>>,
    connecting: AsyncMutex<()>,
    hello: Mutex<Option<Value>>,
    closed: Arc<Flag>,
}

impl AsyncClientBuilder {
    settings_methods!();

    /// The client, which has not connected yet.
    pub fn build(self) -> AsyncClient {
        let timeout = self.0.timeout;
        let shared = Shared {
            settings: self.0,
            process: process::id(),
            link: Mutex::new(None),
            greeting: Mutex::new(Weak::new()),
            connecting: AsyncMutex::new(()),
            hello: Mutex::new(None),
            closed: Arc::new(Flag::default()),
        };
        AsyncClient { shared: Arc::new(shared), timeout }
    }
}

impl AsyncClient {
    /// A client of this user's agent, which it starts at the first call if none runs.
    pub fn new() -> Self {
        AsyncClientBuilder::default().build()
    }

    /// Other settings.
    pub fn builder() -> AsyncClientBuilder {
        AsyncClientBuilder::default()
    }

    /// Connects now.
    ///
    /// # Errors
    /// As [`Client::connect`](crate::Client::connect).
    pub async fn connect(&self) -> Result<()> {
        limited(self.timeout, async { self.connected(true).await.map(|_| ()) }).await
    }

    /// The answer to `agent.hello` on the latest connection: the agent's name, version, features and limits. Connects if
    /// the client has not done so yet.
    ///
    /// # Errors
    /// As [`Client::connect`](crate::Client::connect).
    pub async fn hello(&self) -> Result<AgentHelloResult> {
        let is_unknown = lock(&self.shared.hello).is_none();
        if is_unknown {
            self.connect().await?;
        }
        told(&lock(&self.shared.hello))
    }

    /// Makes a raw call, in JSON as on the wire. `Value::Null` stands for no params.
    ///
    /// The result has its secrets in plain text, in memory that is not wiped: the typed methods are for them.
    ///
    /// # Errors
    /// The agent's error, or a failure of the client.
    pub async fn call(&self, method: &str, params: &Value) -> Result<Value> {
        self.invoke(method, given(params)).await
    }

    /// This client with another time-out.
    #[must_use]
    pub fn within(&self, timeout: Duration) -> AsyncClient {
        AsyncClient { timeout: Some(timeout), ..self.clone() }
    }

    /// Subscribes, and returns a stream of events that survives reconnections.
    ///
    /// After the agent went away the stream waits for the next one, and starts none.
    ///
    /// # Errors
    /// As [`call`](AsyncClient::call).
    pub async fn events(&self, wanted: EventSubscribeParams) -> Result<AsyncEventStream> {
        AsyncEventStream::subscribed(self.clone(), wanted).await
    }

    /// Ends the connection, for all clones. Calls in flight fail with [`ErrorKind::ClientClosed`].
    pub fn close(&self) {
        self.shared.close();
    }

    pub(crate) async fn invoke<P: Json, R: Json>(&self, method: &str, params: Option<&P>) -> Result<R> {
        let answer = limited(self.timeout, async { self.connected(true).await?.call(method, params, None).await });
        answer.await?.read(method)
    }

    /// Subscribes a feed, on a connection that an agent may be started for.
    pub(crate) async fn subscribe(&self, feed: &Arc<Feed>, starts: bool) -> Result<Arc<AsyncLink>> {
        let subscribed = async {
            let link = self.connected(starts).await?;
            let mut subscribing = Subscribing { link: &link, feed, before: feed.subscription(), is_done: false };
            link.call("event.subscribe", Some(&feed.params()), Some(Arc::clone(feed))).await?;
            subscribing.is_done = true;
            drop(subscribing);
            Ok(link)
        };
        limited(Some(CONNECT), subscribed).await
    }

    /// The link, opened if it must be. `starts` is false for a connection that is not worth starting an agent.
    async fn connected(&self, starts: bool) -> Result<Arc<AsyncLink>> {
        let shared = &*self.shared;
        if shared.process != process::id() {
            let message = "the client belongs to another process: make a client after the fork";
            return Err(Error::new(ErrorKind::ClientClosed, message));
        }
        if let Some(link) = shared.current() {
            return Ok(link);
        }
        // The agent answers `agent.hello` at once, or hangs.
        limited(Some(CONNECT), async {
            let _passage = shared.connecting.lock().await;
            if shared.closed.is_raised() {
                return Err(Error::closed());
            }
            if let Some(link) = shared.current() {
                return Ok(link);
            }
            let link = self.dial(starts && shared.settings.may_start()).await?;
            let greeting = Greeting(Some(Arc::clone(&link)));
            *lock(&shared.greeting) = Arc::downgrade(&link);
            if shared.closed.is_raised() {
                shared.close();
            }
            *lock(&shared.hello) = Some(link.greet(&shared.settings.hello()).await?);
            *lock(&shared.link) = Some(Arc::clone(&link));
            greeting.succeeded();
            if shared.closed.is_raised() {
                shared.close();
                return Err(Error::closed());
            }
            Ok(link)
        })
        .await
    }

    async fn dial(&self, starts: bool) -> Result<Arc<AsyncLink>> {
        let path = self.shared.settings.path()?;
        let mut attempt = 0;
        loop {
            // By itself: Rust 1.63 would keep the closure, which is not `Sync`, until after the await.
            let dialled = dial(&path, false, &|_| true);
            let stream = match dialled {
                Err(error) if starts && error.kind() == ErrorKind::AgentNotRunning => self.start(path.clone()).await?,
                other => other?,
            };
            if let Some(stream) = stream {
                return AsyncLink::new(stream)
                    .map_err(|error| Error::new(ErrorKind::AgentNotRunning, format!("no connection: {error}")));
            }
            sleep(pause(attempt)).await;
            if self.shared.closed.is_raised() {
                return Err(Error::closed());
            }
            attempt += 1;
        }
    }

    /// Starts the agent in a thread for blocking work.
    async fn start(&self, path: PathBuf) -> Result<Option<std::os::unix::net::UnixStream>> {
        let closed = Arc::clone(&self.shared.closed);
        let deadline = Instant::now() + CONNECT;
        let starting = spawn_blocking(move || {
            let wait =
                |time: Duration| closed.wait_until(deadline.min(Instant::now() + time)) || deadline <= Instant::now();
            dial(&path, true, &wait)
        });
        starting.await.unwrap_or_else(|_| Err(Error::closed()))
    }
}

impl Default for AsyncClient {
    fn default() -> Self {
        AsyncClient::new()
    }
}

impl fmt::Debug for AsyncClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.shared.closed.is_raised() { "closed" } else { "open" };
        write!(formatter, "AsyncClient({state})")
    }
}

impl Shared {
    fn current(&self) -> Option<Arc<AsyncLink>> {
        let link = lock(&self.link).clone()?;
        link.is_alive().then_some(link)
    }

    fn close(&self) {
        self.closed.raise();
        let (link, greeting) = (lock(&self.link).take(), lock(&self.greeting).upgrade());
        for link in link.into_iter().chain(greeting) {
            link.close(Error::closed());
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}

/// A link that was not greeted. It is closed if the greeting fails, or is given up.
struct Greeting(Option<Arc<AsyncLink>>);

impl Greeting {
    fn succeeded(mut self) {
        self.0 = None;
    }
}

impl Drop for Greeting {
    fn drop(&mut self) {
        if let Some(link) = self.0.take() {
            link.close(Error::went_away());
        }
    }
}

async fn limited<T>(limit: Option<Duration>, work: impl Future<Output = Result<T>>) -> Result<T> {
    match limit {
        None => work.await,
        Some(limit) => {
            timeout(limit, work).await.unwrap_or_else(|_| Err(Error::timed_out("the agent did not answer in time")))
        }
    }
}

/// Ends a subscription that was granted to a future that was dropped before it could tell.
struct Subscribing<'a> {
    link: &'a Arc<AsyncLink>,
    feed: &'a Arc<Feed>,
    before: Option<String>,
    is_done: bool,
}

impl Drop for Subscribing<'_> {
    fn drop(&mut self) {
        let granted = self.feed.subscription().filter(|granted| Some(granted) != self.before.as_ref());
        if let (false, Some(subscription)) = (self.is_done, granted) {
            self.link.unsubscribe(&subscription);
        }
    }
}
