//! The protocol of one connection, without I/O: ids, answers, events, limits.
//!
//! The blocking and the async client pass received lines to `Protocol` and send the lines that it returns.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::feed::Feed;
use crate::json::{Json, Malformed, Reader, Writer};
use crate::wiped::WipedBytes;
use crate::{Error, ErrorKind, Event, EventSubscribeResult, Result};

/// The longest line that the client reads. Answers to `request.send` hold whole bodies.
pub(crate) const MAXIMUM_ANSWER_BYTES: usize = 64 << 20;

/// The number of events kept that arrive before the answer with their subscription.
const MAXIMUM_STRAY_EVENTS: usize = 1024;

/// Receives the answer of one call.
pub(crate) trait Sink {
    fn settle(self, answer: Result<Answer>);
}

/// The result of a call, in the line that it came in.
pub(crate) struct Answer {
    line: WipedBytes,
    result: Range<usize>,
}

impl Answer {
    fn text(&self) -> &str {
        // The whole line was checked when it arrived.
        std::str::from_utf8(&self.line.as_slice()[self.result.clone()]).unwrap_or_default()
    }

    pub fn read<T: Json>(&self, method: &str) -> Result<T> {
        T::from_json(self.text()).map_err(|malformed| Error::answer(method, &malformed))
    }
}

struct Limits {
    requests_in_flight: usize,
    line_bytes: usize,
    body_line_bytes: usize,
}

/// The client's side of one connection.
pub(crate) struct Protocol<S> {
    limits: Limits,
    last_id: i64,
    waiting: HashMap<i64, S>,
    subscribing: HashMap<i64, Arc<Feed>>,
    /// Requests for a subscription that were cancelled: one may be granted all the same.
    abandoned: HashSet<i64>,
    /// Subscriptions that came after their caller gave up, to be ended in the agent.
    orphans: Vec<String>,
    feeds: HashMap<String, Arc<Feed>>,
    strays: Vec<Event>,
}

impl<S: Sink> Protocol<S> {
    pub fn new() -> Self {
        Protocol {
            // The agent's defaults (docs/protocol.md, Limits), until its answer to `agent.hello` names its `limits`.
            limits: Limits { requests_in_flight: 128, line_bytes: 64 << 10, body_line_bytes: 1 << 20 },
            last_id: 0,
            waiting: HashMap::new(),
            subscribing: HashMap::new(),
            abandoned: HashSet::new(),
            orphans: Vec::new(),
            feeds: HashMap::new(),
            strays: Vec::new(),
        }
    }

    #[cfg(feature = "tokio")]
    pub fn requests_in_flight(&self) -> usize {
        self.limits.requests_in_flight
    }

    /// True if one more request fits the agent's limit. Cancelled requests count until they are answered.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < self.limits.requests_in_flight
    }

    /// Applies the limits from the answer to `agent.hello`.
    pub fn obey(&mut self, hello: &Value) {
        let told = |name: &str, otherwise: usize| match hello["limits"][name].as_u64().map(usize::try_from) {
            Some(Ok(number)) if number > 0 => number,
            _ => otherwise,
        };
        self.limits = Limits {
            requests_in_flight: told("requestsInFlight", self.limits.requests_in_flight),
            line_bytes: told("lineBytes", self.limits.line_bytes),
            body_line_bytes: told("bodyLineBytes", self.limits.body_line_bytes),
        };
    }

    /// Returns the id and the line of a new request. `feed` gets the events of the subscription in its answer.
    pub fn request<P: Json>(
        &mut self,
        method: &str,
        params: Option<&P>,
        sink: S,
        feed: Option<Arc<Feed>>,
    ) -> Result<(i64, WipedBytes)> {
        let id = self.last_id + 1;
        let mut writer = Writer::default();
        writer.raw(r#"{"jsonrpc":"2.0","id":"#);
        id.write(&mut writer);
        writer.raw(r#","method":"#);
        writer.string(method);
        if let Some(params) = params {
            writer.raw(r#","params":"#);
            params.write(&mut writer);
        }
        writer.raw("}\n");
        let line = writer.into_bytes();
        let limit = if carries_body(method) { self.limits.body_line_bytes } else { self.limits.line_bytes };
        if line.len() > limit {
            // The agent would close the connection, which other callers may share.
            let message = format!("the request has {} bytes; the agent's limit is {limit}", line.len());
            return Err(Error::new(ErrorKind::RequestTooLarge, message));
        }
        self.last_id = id;
        self.waiting.insert(id, sink);
        if let Some(feed) = feed {
            self.subscribing.insert(id, feed);
        }
        Ok((id, line))
    }

    /// Cancels a request. Returns the line to send, or `None` if the request was answered already.
    pub fn cancel(&mut self, id: i64) -> Option<WipedBytes> {
        let subscribes = self.subscribing.remove(&id).is_some();
        if !self.waiting.contains_key(&id) {
            return None;
        }
        if subscribes {
            self.abandoned.insert(id);
        }
        let mut writer = Writer::default();
        writer.raw(r#"{"jsonrpc":"2.0","method":"$/cancel","params":{"id":"#);
        id.write(&mut writer);
        writer.raw("}}\n");
        Some(writer.into_bytes())
    }

    /// Forgets a request that was never sent.
    pub fn unsend(&mut self, id: i64) {
        self.waiting.remove(&id);
        self.subscribing.remove(&id);
    }

    /// Forgets a subscription: its events are dropped.
    pub fn unsubscribe(&mut self, subscription: &str) {
        self.feeds.remove(subscription);
    }

    /// A subscription that its caller no longer wants.
    pub fn next_orphan(&mut self) -> Option<String> {
        self.orphans.pop()
    }

    /// Keeps it for later.
    pub fn put_back(&mut self, orphan: String) {
        self.orphans.push(orphan);
    }

    /// Handles one line of the agent. After an error the connection can't be used.
    pub fn receive(&mut self, line: WipedBytes) -> Result<()> {
        if matches!(line.as_slice(), b"" | b"\r") {
            return Ok(());
        }
        let text = std::str::from_utf8(line.as_slice()).map_err(|_| not_json())?;
        let message = Message::parse(text)?;
        if let Some(method) = message.method {
            if method.as_deref() == Some("event") {
                let params = message.params.map_or("null", |span| &text[span]);
                let event = Event::from_json(params).map_err(|malformed| {
                    Error::protocol(format!("an event of the agent is malformed at {malformed}"))
                })?;
                self.event_arrived(event);
            }
            return Ok(());
        }
        let id = match message.id {
            None => {
                // An error without an id belongs to no call, so that some call would wait for ever.
                return Err(Error::from_answer(message.error.map_or("null", |span| &text[span])));
            }
            Some(id) => id,
        };
        let sink = match id.and_then(|id| self.waiting.remove(&id)) {
            None => return Ok(()),
            Some(sink) => sink,
        };
        let feed = id.and_then(|id| self.subscribing.remove(&id));
        let is_abandoned = id.map_or(false, |id| self.abandoned.remove(&id));
        if let Some(error) = message.error {
            sink.settle(Err(Error::from_answer(&text[error])));
            return Ok(());
        }
        let result = match message.result {
            Some(span) if text[span.clone()].starts_with('{') => span,
            _ => {
                sink.settle(Err(Error::protocol("a result of the agent is not an object")));
                return Ok(());
            }
        };
        if is_abandoned {
            if let Ok(late) = EventSubscribeResult::from_json(&text[result.clone()]) {
                self.orphans.push(late.subscription);
            }
        }
        if let Some(feed) = feed {
            match feed.subscribed(&text[result.clone()]) {
                Ok(subscription) => self.subscribed(subscription, feed),
                Err(error) => {
                    sink.settle(Err(error));
                    return Ok(());
                }
            }
        }
        sink.settle(Ok(Answer { line, result }));
        Ok(())
    }

    /// Ends the connection: every waiting call fails.
    pub fn lost(&mut self, reason: &Error) {
        self.subscribing.clear();
        self.abandoned.clear();
        self.orphans.clear();
        self.feeds.clear();
        self.strays.clear();
        for (_, sink) in self.waiting.drain() {
            sink.settle(Err(reason.clone()));
        }
    }

    fn subscribed(&mut self, subscription: String, feed: Arc<Feed>) {
        self.feeds.insert(subscription, feed);
        for event in std::mem::take(&mut self.strays) {
            self.event_arrived(event);
        }
    }

    fn event_arrived(&mut self, event: Event) {
        if let Some(feed) = self.feeds.get(&event.subscription) {
            feed.receive(event);
        } else if !self.subscribing.is_empty() && self.strays.len() < MAXIMUM_STRAY_EVENTS {
            self.strays.push(event);
        }
    }
}

/// Whether the request line of a method may be as long as `bodyLineBytes`.
fn carries_body(method: &str) -> bool {
    // Those that a newer agent has are likely in these namespaces.
    crate::generated::BODY_METHODS.contains(&method) || method.starts_with("policy.")
}

fn not_json() -> Error {
    Error::protocol("a line of the agent is not JSON")
}

/// Where the members of a message stand in its line.
#[derive(Default)]
struct Message {
    /// `Some(None)` if it is no string.
    method: Option<Option<String>>,
    /// `None` if it is absent or null, `Some(None)` if it is none that this client gave.
    id: Option<Option<i64>>,
    params: Option<Range<usize>>,
    result: Option<Range<usize>>,
    error: Option<Range<usize>>,
}

impl Message {
    fn parse(text: &str) -> Result<Self> {
        let mut message = Message::default();
        let mut reader = Reader::new(text);
        if reader.next_is(b'{') {
            let read = reader.object(&mut |reader, name| {
                let value = reader.skip()?;
                // `value` is a part of `text`.
                let begin = value.as_ptr() as usize - text.as_ptr() as usize;
                let span = begin..begin + value.len();
                match name {
                    "method" => message.method = Some(String::from_json(value).ok()),
                    "id" => message.id = if value == "null" { None } else { Some(value.parse().ok()) },
                    "params" => message.params = Some(span),
                    "result" => message.result = Some(span),
                    "error" => message.error = Some(span),
                    _ => {}
                }
                Ok(())
            });
            read.and_then(|()| reader.end()).map_err(|_: Malformed| not_json())?;
            return Ok(message);
        }
        reader.skip().and_then(|_| reader.end()).map_err(|_| not_json())?;
        Err(Error::protocol("a line of the agent is not an object"))
    }
}
