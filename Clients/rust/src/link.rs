//! One connection, which any number of threads share without a thread of its own.
//!
//! Leader and followers: one of the waiting callers reads the socket for all. When its own answer has arrived, another
//! caller takes over. While no caller waits, the client reads nothing; events then wait in the agent, which bounds them.

use std::io::{ErrorKind as Io, Read, Write};
use std::net::Shutdown;
use std::os::unix::io::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cancellation::Cancellation;
use crate::feed::Feed;
use crate::json::Json;
use crate::protocol::{Answer, Protocol, Sink, MAXIMUM_ANSWER_BYTES};
use crate::sync::{is_over, lock, park, Deadline};
use crate::sys::{poll, send, Readiness};
use crate::wiped::Inbox;
use crate::{AgentHelloParams, Error, EventUnsubscribeParams, Result};

/// The limit for sending `$/cancel` and `event.unsubscribe`: the agent may have stopped reading.
pub(crate) const CANCEL: Duration = Duration::from_secs(1);

/// A writer that does not lead looks again after this time: the leader may leave without reading what blocks the agent.
const FOLLOWING_WRITER: Duration = Duration::from_millis(50);

/// What ends the waiting of a call.
#[derive(Clone, Copy, Default)]
pub(crate) struct Terms<'a> {
    pub deadline: Deadline,
    pub cancellation: Option<&'a Cancellation>,
}

impl Terms<'_> {
    pub fn within(limit: Duration) -> Self {
        Terms { deadline: Some(Instant::now() + limit), cancellation: None }
    }

    pub fn check(&self, message: &str) -> Result<()> {
        if self.cancellation.map_or(false, Cancellation::is_cancelled) {
            return Err(Error::cancelled());
        }
        if is_over(self.deadline) {
            return Err(Error::timed_out(message));
        }
        Ok(())
    }
}

/// Holds the answer for one caller.
struct Slot {
    answer: Mutex<Option<Result<Answer>>>,
    wake: Arc<Condvar>,
}

impl Sink for Arc<Slot> {
    fn settle(self, answer: Result<Answer>) {
        *lock(&self.answer) = Some(answer);
        self.wake.notify_one();
    }
}

pub(crate) struct Link {
    socket: UnixStream,
    /// A byte through this pair wakes the leader.
    alarm: (UnixStream, UnixStream),
    state: Mutex<State>,
    written: Condvar,
}

struct State {
    protocol: Protocol<Arc<Slot>>,
    inbox: Inbox,
    reading: bool,
    writing: bool,
    lost: Option<Error>,
    /// The callers that wait while another one reads.
    parked: Vec<Arc<Condvar>>,
    /// Those of them that wait for room to send a request.
    crowded: Vec<Arc<Condvar>>,
}

type Guard<'a> = MutexGuard<'a, State>;

impl Link {
    /// `socket` does not block.
    pub fn new(socket: UnixStream) -> std::io::Result<Self> {
        let alarm = UnixStream::pair()?;
        alarm.0.set_nonblocking(true)?;
        alarm.1.set_nonblocking(true)?;
        let state = State {
            protocol: Protocol::new(),
            inbox: Inbox::new(),
            reading: false,
            writing: false,
            lost: None,
            parked: Vec::new(),
            crowded: Vec::new(),
        };
        Ok(Link { socket, alarm, state: Mutex::new(state), written: Condvar::new() })
    }

    /// Sends a request and waits for its answer.
    pub fn call<P: Json>(
        self: &Arc<Self>,
        method: &str,
        params: Option<&P>,
        terms: Terms<'_>,
        feed: Option<Arc<Feed>>,
    ) -> Result<Answer> {
        let _watch = terms.cancellation.map(|cancellation| cancellation.watch(self));
        let wake = Arc::new(Condvar::new());
        let slot = Arc::new(Slot { answer: Mutex::new(None), wake: Arc::clone(&wake) });
        let mut state = lock(&self.state);
        if !state.protocol.has_room() {
            state.crowded.push(Arc::clone(&wake));
            let (returned, result) = self.wait(state, terms, &wake, &|state| state.protocol.has_room());
            state = returned;
            state.crowded.retain(|other| !Arc::ptr_eq(other, &wake));
            result?;
        }
        if let Some(lost) = &state.lost {
            return Err(lost.clone());
        }
        let (id, line) = state.protocol.request(method, params, Arc::clone(&slot), feed)?;
        drop(state);
        if let Err(error) = self.write(line.as_slice(), terms) {
            lock(&self.state).protocol.unsend(id);
            // There is room for a caller that waits for it, and no answer will tell it.
            self.wake_all();
            return Err(error);
        }
        drop(line);
        let (mut state, result) = self.wait(lock(&self.state), terms, &wake, &|_| lock(&slot.answer).is_some());
        if let Some(answer) = lock(&slot.answer).take() {
            return answer;
        }
        let cancel = state.protocol.cancel(id);
        drop(state);
        if let Some(line) = cancel {
            // The caller has its error already.
            let _ = self.write(line.as_slice(), Terms::within(CANCEL));
        }
        Err(result.err().unwrap_or_else(Error::went_away))
    }

    pub fn greet(self: &Arc<Self>, params: &AgentHelloParams, terms: Terms<'_>) -> Result<Value> {
        let hello: Value = self.call("agent.hello", Some(params), terms, None)?.read("agent.hello")?;
        lock(&self.state).protocol.obey(&hello);
        Ok(hello)
    }

    /// Reads until `ready()`.
    pub fn wait_until(&self, terms: Terms<'_>, wake: &Arc<Condvar>, ready: &dyn Fn() -> bool) -> Result<()> {
        self.wait(lock(&self.state), terms, wake, &|_| ready()).1
    }

    /// True if the connection is open. Notices an end that arrived while no caller was reading.
    pub fn is_alive(&self) -> bool {
        let mut state = lock(&self.state);
        while state.lost.is_none() && !state.reading && self.read(&mut state) {}
        state.lost.is_none()
    }

    pub fn forget(&self, subscription: &str) {
        lock(&self.state).protocol.unsubscribe(subscription);
    }

    /// Makes all waiting callers check their conditions again.
    pub fn wake_all(&self) {
        let state = lock(&self.state);
        for wake in &state.parked {
            wake.notify_one();
        }
        self.written.notify_all();
        if state.reading {
            // If the pair is full, an alarm is on its way.
            let _ = (&self.alarm.0).write(&[0]);
        }
    }

    pub fn close(&self, reason: Error) {
        self.lose(&mut lock(&self.state), reason);
    }

    /// Waits until `ready`. Reads the socket if no other caller does.
    fn wait<'a>(
        &'a self,
        mut state: Guard<'a>,
        terms: Terms<'_>,
        wake: &Arc<Condvar>,
        ready: &dyn Fn(&State) -> bool,
    ) -> (Guard<'a>, Result<()>) {
        let result = loop {
            if ready(&state) {
                break Ok(());
            }
            if let Some(lost) = &state.lost {
                break Err(lost.clone());
            }
            if let Err(error) = terms.check("the agent did not answer in time") {
                break Err(error);
            }
            if state.reading {
                state.parked.push(Arc::clone(wake));
                state = park(wake, state, terms.deadline);
                if let Some(at) = state.parked.iter().position(|other| Arc::ptr_eq(other, wake)) {
                    state.parked.swap_remove(at);
                }
                continue;
            }
            state.reading = true;
            drop(state);
            self.poll(false, terms.deadline);
            state = lock(&self.state);
            state.reading = false;
            self.read(&mut state);
        };
        state.hand_over();
        (state, result)
    }

    /// Waits, as the leader, for bytes of the agent or an alarm. True if the socket takes bytes, or has failed.
    fn poll(&self, writes: bool, deadline: Deadline) -> bool {
        let socket = Readiness { read: true, write: writes, failed: false };
        let alarm = Readiness { read: true, ..Readiness::default() };
        let [socket, alarm] = poll([(self.socket.as_raw_fd(), socket), (self.alarm.1.as_raw_fd(), alarm)], deadline);
        if alarm.read {
            let mut bytes = [0; 64];
            while matches!((&self.alarm.1).read(&mut bytes), Ok(count) if count == bytes.len()) {}
        }
        socket.write || socket.failed
    }

    /// Reads what has arrived; false if nothing has.
    fn read(&self, state: &mut State) -> bool {
        if state.lost.is_some() {
            return false;
        }
        match (&self.socket).read(state.inbox.room()) {
            Ok(0) => self.lose(state, Error::went_away()),
            Ok(count) => {
                state.inbox.filled(count);
                if let Err(error) = state.handle_lines() {
                    self.lose(state, error);
                }
            }
            Err(error) if error.kind() == Io::WouldBlock => return false,
            Err(error) if error.kind() == Io::Interrupted => {}
            Err(_) => self.lose(state, Error::went_away()),
        }
        self.end_orphans(state);
        for wake in &state.crowded {
            wake.notify_one();
        }
        state.lost.is_none()
    }

    /// Ends subscriptions that came after their callers gave up, as far as the socket takes it now.
    fn end_orphans(&self, state: &mut State) {
        while !state.writing && state.lost.is_none() {
            let subscription = match state.protocol.next_orphan() {
                Some(subscription) => subscription,
                None => return,
            };
            let params = EventUnsubscribeParams::new(subscription.as_str());
            let slot = Arc::new(Slot { answer: Mutex::new(None), wake: Arc::new(Condvar::new()) });
            let (id, line) = match state.protocol.request("event.unsubscribe", Some(&params), slot, None) {
                Ok(request) => request,
                Err(_) => return,
            };
            match send(&self.socket, line.as_slice()) {
                Ok(count) if count == line.as_slice().len() => {}
                Err(error) if error.kind() == Io::WouldBlock || error.kind() == Io::Interrupted => {
                    state.protocol.unsend(id);
                    return state.protocol.put_back(subscription);
                }
                // The agent would read the next line as the rest of this one.
                _ => self.lose(state, Error::went_away()),
            }
        }
    }

    /// Sends one line. After an error nothing of it was sent, or the connection is lost.
    fn write(&self, line: &[u8], terms: Terms<'_>) -> Result<()> {
        let late = "the agent did not take the request in time";
        let mut state = lock(&self.state);
        while state.writing && state.lost.is_none() {
            terms.check(late)?;
            state = park(&self.written, state, terms.deadline);
        }
        if let Some(lost) = &state.lost {
            return Err(lost.clone());
        }
        state.writing = true;
        drop(state);
        let (sent, result) = self.write_alone(line, terms, late);
        let mut state = lock(&self.state);
        state.writing = false;
        if sent > 0 && result.is_err() {
            // The agent would read the next line as the rest of this one.
            self.lose(&mut state, Error::went_away());
        }
        self.written.notify_one();
        result
    }

    fn write_alone(&self, line: &[u8], terms: Terms<'_>, late: &str) -> (usize, Result<()>) {
        let mut sent = 0;
        while sent < line.len() {
            // Other callers share this connection, so that the caller finishes its line before it gives up.
            let terms = if sent == 0 {
                terms
            } else {
                Terms { deadline: terms.deadline.map(|deadline| deadline + CANCEL), cancellation: None }
            };
            match send(&self.socket, &line[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == Io::WouldBlock => {
                    if let Err(error) = self.make_room(terms, late) {
                        return (sent, Err(error));
                    }
                }
                Err(error) if error.kind() == Io::Interrupted => {}
                Err(_) => {
                    let mut state = lock(&self.state);
                    // The agent may have sent an error before it closed.
                    while state.lost.is_none() && !state.reading && self.read(&mut state) {}
                    self.lose(&mut state, Error::went_away());
                    return (sent, Err(state.lost.clone().unwrap_or_else(Error::went_away)));
                }
            }
        }
        (sent, Ok(()))
    }

    /// Waits until the socket takes more bytes. The agent stops reading from a client that does not read its answers,
    /// so that the writer reads if no other caller does.
    fn make_room(&self, terms: Terms<'_>, late: &str) -> Result<()> {
        loop {
            let mut state = lock(&self.state);
            if let Some(lost) = &state.lost {
                return Err(lost.clone());
            }
            terms.check(late)?;
            let leads = !state.reading;
            state.reading = true;
            drop(state);
            let deadline = crate::sync::at_most(terms.deadline, FOLLOWING_WRITER);
            let has_room = if leads {
                self.poll(true, Some(deadline))
            } else {
                let interest = Readiness { write: true, ..Readiness::default() };
                let [socket] = poll([(self.socket.as_raw_fd(), interest)], Some(deadline));
                socket.write || socket.failed
            };
            if leads {
                let mut state = lock(&self.state);
                state.reading = false;
                self.read(&mut state);
                state.hand_over();
            }
            if has_room {
                return Ok(());
            }
        }
    }

    fn lose(&self, state: &mut State, reason: Error) {
        if state.lost.is_some() {
            return;
        }
        state.protocol.lost(&reason);
        state.lost = Some(reason);
        // Wakes a leader that waits for bytes.
        let _ = self.socket.shutdown(Shutdown::Both);
        for wake in &state.parked {
            wake.notify_one();
        }
        self.written.notify_all();
    }
}

impl State {
    fn handle_lines(&mut self) -> Result<()> {
        while let Some(line) = self.inbox.line() {
            self.protocol.receive(line)?;
        }
        if self.inbox.pending() > MAXIMUM_ANSWER_BYTES {
            return Err(too_long());
        }
        Ok(())
    }

    /// Wakes a follower, if no caller reads: one of them must lead.
    fn hand_over(&self) {
        if let (false, Some(next)) = (self.reading, self.parked.first()) {
            next.notify_one();
        }
    }
}

pub(crate) fn too_long() -> Error {
    Error::protocol(format!("a line of the agent is longer than {MAXIMUM_ANSWER_BYTES} bytes"))
}
