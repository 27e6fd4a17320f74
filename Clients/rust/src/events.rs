use std::fmt;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::feed::{pause, Feed};
use crate::link::{Link, Terms, CANCEL};
use crate::sync::{at_most, is_over, lock, Flag};
use crate::{
    Error, ErrorKind, Event, EventData, EventPosition, EventSubscribeParams, EventType, EventUnsubscribeParams, Result,
};

impl Event {
    /// The `data` in its type. A gap that the client noticed itself may reach back to the first event of the epoch.
    ///
    /// # Errors
    /// [`ErrorKind::ProtocolError`] if the data is not what the contract says.
    pub fn typed(&self) -> Result<EventData> {
        let mut data = self.data.clone();
        if self.type_ == EventType::EventGap {
            data.entry("from").or_insert_with(|| 0.into());
            data.entry("to").or_insert_with(|| self.sequence.into());
        }
        EventData::read(&self.type_, &data)
            .map_err(|malformed| Error::protocol(format!("the data of an event is malformed at {malformed}")))
    }
}

/// A subscription that survives reconnections. Iterating waits for each next event.
///
/// ```no_run
/// use lanyard::{Client, EventSubscribeParams, EventType};
///
/// let client = Client::new();
/// let wanted = EventSubscribeParams::new().types([EventType::AccountSwitched, EventType::SessionExpired]);
/// for event in client.events(wanted)? {
///     let event = event?;
///     match event.type_ {
///         EventType::EventGap => println!("something was missed: look at everything again"),
///         _ => println!("{} {:?}", event.type_, event.account),
///     }
/// }
/// # Ok::<(), lanyard::Error>(())
/// ```
///
/// Once an agent runs again (the stream starts none), it subscribes again after the last event that it had. What can no
/// longer be told shows as one event of the type `event.gap`.
///
/// All methods take `&self`, so that one thread may wait while another asks for the position or closes the stream.
pub struct EventStream {
    client: Client,
    feed: Arc<Feed>,
    wake: Arc<Condvar>,
    link: Mutex<Option<Arc<Link>>>,
    ended: Flag,
}

impl EventStream {
    pub(crate) fn subscribed(client: Client, wanted: EventSubscribeParams) -> Result<Self> {
        let wake = Arc::new(Condvar::new());
        let waker = Arc::clone(&wake);
        let feed = Arc::new(Feed::new(wanted, move || waker.notify_one()));
        let link = client.subscribe(&feed, true, None)?;
        Ok(EventStream { client, feed, wake, link: Mutex::new(Some(link)), ended: Flag::default() })
    }

    /// The position of the last event that was taken, for `since` of another stream.
    pub fn position(&self) -> Option<EventPosition> {
        self.feed.position()
    }

    /// Waits for the next event. `None` once the stream or the client was closed.
    ///
    /// # Errors
    /// The agent refuses the subscription. The stream has ended then.
    pub fn receive(&self) -> Result<Option<Event>> {
        self.receive_until(None)
    }

    /// Waits for the next event, for a limited time. `None` also if none came.
    ///
    /// # Errors
    /// As [`receive`](EventStream::receive).
    pub fn receive_timeout(&self, timeout: Duration) -> Result<Option<Event>> {
        self.receive_until(Instant::now().checked_add(timeout))
    }

    /// Ends the subscription. A thread that waits for an event gets `None`.
    pub fn close(&self) {
        self.ended.raise();
        if self.client.is_inherited() {
            return;
        }
        let link = lock(&self.link).take();
        let (link, subscription) = match (link, self.feed.subscription()) {
            (Some(link), Some(subscription)) => (link, subscription),
            _ => return,
        };
        link.forget(&subscription);
        link.wake_all();
        if self.client.is_current(&link) {
            // Without an answer the agent has ended, and the subscription with it.
            let params = EventUnsubscribeParams::new(subscription);
            let _ = link.call("event.unsubscribe", Some(&params), Terms::within(CANCEL), None);
        }
    }

    fn receive_until(&self, deadline: Option<Instant>) -> Result<Option<Event>> {
        let mut attempt = 0;
        while !self.ended.is_raised() {
            if let Some(event) = self.feed.take() {
                return Ok(Some(event));
            }
            let terms = Terms { deadline, cancellation: None };
            let ready = || self.feed.is_ready() || self.ended.is_raised();
            let current = lock(&self.link).clone();
            let error = match current {
                Some(link) => match link.wait_until(terms, &self.wake, &ready) {
                    Ok(()) => continue,
                    Err(error) if error.kind() == ErrorKind::CallTimeout => return Ok(None),
                    Err(error) => {
                        *lock(&self.link) = None;
                        error
                    }
                },
                None => match self.client.subscribe(&self.feed, false, deadline) {
                    Ok(link) => {
                        self.resume(link);
                        attempt = 0;
                        continue;
                    }
                    Err(error) => error,
                },
            };
            if error.kind() == ErrorKind::ClientClosed {
                break;
            }
            if !error.retryable() {
                self.ended.raise();
                return Err(error);
            }
            self.ended.wait_until(at_most(deadline, pause(attempt).max(error.retry_after().unwrap_or_default())));
            if is_over(deadline) {
                return Ok(None);
            }
            attempt += 1;
        }
        self.ended.raise();
        Ok(None)
    }

    fn resume(&self, link: Arc<Link>) {
        *lock(&self.link) = Some(link);
        if self.ended.is_raised() {
            // `close` came while this thread subscribed, and did not see the new link.
            self.close();
        }
    }
}

impl Iterator for EventStream {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        self.receive().transpose()
    }
}

impl Iterator for &EventStream {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        self.receive().transpose()
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventStream").field("position", &self.position()).finish_non_exhaustive()
    }
}
