use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::client::AsyncClient;
use super::link::AsyncLink;
use crate::feed::{pause, Feed};
use crate::link::CANCEL;
use crate::sync::lock;
use crate::{Error, ErrorKind, Event, EventPosition, EventSubscribeParams, EventUnsubscribeParams, Result};

/// A subscription that survives reconnections: [`EventStream`](crate::EventStream) for async programs.
///
/// ```no_run
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), lanyard::Error> {
/// let client = lanyard::AsyncClient::new();
/// let events = client.events(lanyard::EventSubscribeParams::new()).await?;
/// while let Some(event) = events.next().await {
///     println!("{}", event?.type_);
/// }
/// # Ok(())
/// # }
/// ```
pub struct AsyncEventStream {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    feed: Arc<Feed>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    link: Option<Arc<AsyncLink>>,
    /// How the stream ended; the error is told once.
    ended: Option<Option<Error>>,
    /// The consumer ended the stream: it wants no more events.
    is_closed: bool,
    wakers: Vec<Waker>,
}

impl AsyncEventStream {
    pub(crate) async fn subscribed(client: AsyncClient, wanted: EventSubscribeParams) -> Result<Self> {
        let state = Arc::new(Mutex::new(State::default()));
        let notified = Arc::clone(&state);
        let feed = Arc::new(Feed::new(wanted, move || wake(&notified)));
        let link = client.subscribe(&feed, true).await?;
        lock(&state).link = Some(Arc::clone(&link));
        let shared = Arc::new(Shared { feed, state });
        let task = tokio::spawn(follow(client, Arc::clone(&shared), link));
        Ok(AsyncEventStream { shared, task })
    }

    /// The position of the last event that was taken, for `since` of another stream.
    pub fn position(&self) -> Option<EventPosition> {
        self.shared.feed.position()
    }

    /// The next event. `None` once the stream or the client was closed. Dropping the future loses no event.
    ///
    /// # Errors
    /// The agent refuses the subscription. The stream has ended then.
    pub fn next(&self) -> impl Future<Output = Option<Result<Event>>> + Send + '_ {
        Next(self)
    }

    /// What `next` polls, for streams of other crates: `futures_util::stream::poll_fn(|context| events.poll_next(context))`.
    pub fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Result<Event>>> {
        let mut state = lock(&self.shared.state);
        // What arrived before the agent or the client ended the stream is still told.
        if !state.is_closed {
            if let Some(event) = self.shared.feed.take() {
                return Poll::Ready(Some(Ok(event)));
            }
        }
        match &mut state.ended {
            Some(error) => Poll::Ready(error.take().map(Err)),
            None => {
                if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                    state.wakers.push(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    /// Ends the subscription. A task that waits for an event gets `None`.
    pub async fn close(&self) {
        self.task.abort();
        if let Some((link, subscription)) = self.shared.end() {
            link.forget(&subscription);
            let params = EventUnsubscribeParams::new(subscription);
            // Without an answer the agent has ended, and the subscription with it.
            let _ = timeout(CANCEL, link.call("event.unsubscribe", Some(&params), None)).await;
        }
    }
}

impl Drop for AsyncEventStream {
    fn drop(&mut self) {
        self.task.abort();
        if let Some((link, subscription)) = self.shared.end() {
            link.unsubscribe(&subscription);
        }
    }
}

impl fmt::Debug for AsyncEventStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AsyncEventStream").field("position", &self.position()).finish_non_exhaustive()
    }
}

struct Next<'a>(&'a AsyncEventStream);

impl Future for Next<'_> {
    type Output = Option<Result<Event>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_next(context)
    }
}

impl Shared {
    /// Marks the stream as ended. Returns what is to be unsubscribed.
    fn end(&self) -> Option<(Arc<AsyncLink>, String)> {
        let link = {
            let mut state = lock(&self.state);
            state.ended.get_or_insert(None);
            state.is_closed = true;
            state.link.take()
        };
        wake(&self.state);
        link.filter(|link| link.is_alive()).zip(self.feed.subscription())
    }
}

/// Subscribes again whenever the connection has ended.
async fn follow(client: AsyncClient, shared: Arc<Shared>, first: Arc<AsyncLink>) {
    let mut link = first;
    loop {
        let mut error = link.end().await;
        lock(&shared.state).link = None;
        let mut attempt = 0;
        link = loop {
            if error.kind() == ErrorKind::ClientClosed || !error.retryable() {
                let told = Some(error).filter(|error| error.kind() != ErrorKind::ClientClosed);
                lock(&shared.state).ended.get_or_insert(told);
                wake(&shared.state);
                return;
            }
            sleep(pause(attempt).max(error.retry_after().unwrap_or_default())).await;
            attempt += 1;
            match client.subscribe(&shared.feed, false).await {
                Ok(link) => break link,
                Err(other) => error = other,
            }
        };
        lock(&shared.state).link = Some(Arc::clone(&link));
    }
}

fn wake(state: &Mutex<State>) {
    let wakers = std::mem::take(&mut lock(state).wakers);
    for waker in wakers {
        waker.wake();
    }
}
