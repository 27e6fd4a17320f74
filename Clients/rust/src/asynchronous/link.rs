use std::io::ErrorKind as Io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::UnixStream;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::sync::{oneshot, Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::feed::Feed;
use crate::json::Json;
use crate::link::too_long;
use crate::protocol::{Answer, Protocol, Sink, MAXIMUM_ANSWER_BYTES};
use crate::sync::lock;
use crate::sys::has_ended;
use crate::wiped::{Inbox, WipedBytes};
use crate::{AgentHelloParams, Error, EventUnsubscribeParams, Result};

/// Passes the answer to the task that waits for it. Holds a place of the agent's limit, also after a cancellation.
struct Call {
    answer: oneshot::Sender<Result<Answer>>,
    _place: OwnedSemaphorePermit,
}

impl Sink for Call {
    fn settle(self, answer: Result<Answer>) {
        // The caller may have gone.
        let _ = self.answer.send(answer);
    }
}

/// One connection: a task reads it, and another one writes it.
pub(crate) struct AsyncLink {
    state: Mutex<State>,
    lines: UnboundedSender<WipedBytes>,
    ended: Notify,
    /// The same socket, to see its end before the reading task has run.
    socket: StdStream,
}

struct State {
    protocol: Protocol<Call>,
    places: Arc<Semaphore>,
    lost: Option<Error>,
    tasks: Vec<JoinHandle<()>>,
}

impl AsyncLink {
    /// Begins to read and to write. `socket` does not block.
    pub fn new(socket: StdStream) -> std::io::Result<Arc<Self>> {
        let watched = socket.try_clone()?;
        let (reader, writer) = UnixStream::from_std(socket)?.into_split();
        let (lines, received) = unbounded_channel();
        let protocol = Protocol::new();
        let places = Arc::new(Semaphore::new(protocol.requests_in_flight()));
        let state = State { protocol, places, lost: None, tasks: Vec::new() };
        let link = Arc::new(AsyncLink { state: Mutex::new(state), lines, ended: Notify::new(), socket: watched });
        let reading = tokio::spawn(read(Arc::clone(&link), reader));
        let writing = tokio::spawn(write(writer, received));
        lock(&link.state).tasks = vec![reading, writing];
        Ok(link)
    }

    /// Sends a request and waits for its answer. If the future is dropped, the request is cancelled in the agent.
    pub async fn call<P: Json>(
        self: &Arc<Self>,
        method: &str,
        params: Option<&P>,
        feed: Option<Arc<Feed>>,
    ) -> Result<Answer> {
        let places = Arc::clone(&lock(&self.state).places);
        let place = places.acquire_owned().await.map_err(|_| self.reason())?;
        let (answer, answered) = oneshot::channel();
        let mut pending = self.send(method, params, feed, Call { answer, _place: place })?;
        let answer = answered.await;
        pending.is_answered = true;
        answer.unwrap_or_else(|_| Err(self.reason()))
    }

    pub async fn greet(self: &Arc<Self>, params: &AgentHelloParams) -> Result<Value> {
        let hello: Value = self.call("agent.hello", Some(params), None).await?.read("agent.hello")?;
        let mut state = lock(&self.state);
        state.protocol.obey(&hello);
        let limit = state.protocol.requests_in_flight().min(Semaphore::MAX_PERMITS);
        state.places = Arc::new(Semaphore::new(limit));
        Ok(hello)
    }

    /// Ends a subscription without waiting for the answer.
    pub fn unsubscribe(self: &Arc<Self>, subscription: &str) {
        let places = {
            let mut state = lock(&self.state);
            state.protocol.unsubscribe(subscription);
            Arc::clone(&state.places)
        };
        if let Ok(place) = places.try_acquire_owned() {
            let (answer, _) = oneshot::channel();
            let params = EventUnsubscribeParams::new(subscription);
            if let Ok(mut pending) = self.send("event.unsubscribe", Some(&params), None, Call { answer, _place: place })
            {
                pending.is_answered = true;
            }
        }
    }

    pub fn forget(&self, subscription: &str) {
        lock(&self.state).protocol.unsubscribe(subscription);
    }

    pub fn is_alive(&self) -> bool {
        let state = lock(&self.state);
        // The tasks end with their runtime, too.
        state.lost.is_none() && !state.tasks.iter().any(JoinHandle::is_finished) && !has_ended(&self.socket)
    }

    /// Waits for the end of the connection. Returns why it ended.
    pub async fn end(&self) -> Error {
        let ended = self.ended.notified();
        let lost = lock(&self.state).lost.clone();
        match lost {
            Some(error) => error,
            None => {
                ended.await;
                self.reason()
            }
        }
    }

    pub fn close(&self, reason: Error) {
        let mut state = lock(&self.state);
        if state.lost.is_some() {
            return;
        }
        state.protocol.lost(&reason);
        state.lost = Some(reason);
        state.places.close();
        for task in &state.tasks {
            task.abort();
        }
        let _ = self.socket.shutdown(Shutdown::Both);
        self.ended.notify_waiters();
    }

    fn reason(&self) -> Error {
        lock(&self.state).lost.clone().unwrap_or_else(Error::went_away)
    }

    fn send<P: Json>(
        self: &Arc<Self>,
        method: &str,
        params: Option<&P>,
        feed: Option<Arc<Feed>>,
        call: Call,
    ) -> Result<Pending> {
        let mut state = lock(&self.state);
        if let Some(lost) = &state.lost {
            return Err(lost.clone());
        }
        let (id, line) = state.protocol.request(method, params, call, feed)?;
        // If the writer has ended, the reader tells why.
        let _ = self.lines.send(line);
        Ok(Pending { link: Arc::clone(self), id, is_answered: false })
    }
}

/// A request that was sent. It is cancelled if it is dropped before its answer.
struct Pending {
    link: Arc<AsyncLink>,
    id: i64,
    is_answered: bool,
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let mut state = lock(&self.link.state);
        if let Some(line) = state.protocol.cancel(self.id) {
            let _ = self.link.lines.send(line);
        }
    }
}

async fn read(link: Arc<AsyncLink>, reader: OwnedReadHalf) {
    let mut inbox = Inbox::new();
    let error = loop {
        if reader.readable().await.is_err() {
            break Error::went_away();
        }
        match reader.try_read(inbox.room()) {
            Ok(0) => break Error::went_away(),
            Ok(count) => inbox.filled(count),
            Err(error) if matches!(error.kind(), Io::WouldBlock | Io::Interrupted) => continue,
            Err(_) => break Error::went_away(),
        }
        let handled = {
            let mut state = lock(&link.state);
            std::iter::from_fn(|| inbox.line()).try_for_each(|line| state.protocol.receive(line))
        };
        if let Err(error) = handled {
            break error;
        }
        loop {
            // A subscription that came after its caller gave up.
            let orphan = lock(&link.state).protocol.next_orphan();
            match orphan {
                Some(subscription) => link.unsubscribe(&subscription),
                None => break,
            }
        }
        if inbox.pending() > MAXIMUM_ANSWER_BYTES {
            break too_long();
        }
    };
    link.close(error);
}

async fn write(writer: OwnedWriteHalf, mut lines: UnboundedReceiver<WipedBytes>) {
    while let Some(line) = lines.recv().await {
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            match writer.try_write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == Io::WouldBlock => {
                    if writer.writable().await.is_err() {
                        return stay(lines).await;
                    }
                }
                Err(error) if error.kind() == Io::Interrupted => {}
                // The reader gets what the agent sent before it closed, and ends the connection.
                Err(_) => return stay(lines).await,
            }
        }
    }
}

/// Takes lines that can't be sent, until the reader has ended the connection.
async fn stay(mut lines: UnboundedReceiver<WipedBytes>) {
    while lines.recv().await.is_some() {}
}
