//! A subscription for its consumer: the queue, the position, and gaps.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Map;

use crate::json::{Extra, Json};
use crate::sync::lock;
use crate::{Error, Event, EventPosition, EventSubscribeParams, EventSubscribeResult, EventType, Result, Timestamp};

/// The number of events kept for a slow consumer. Beyond this, an `event.gap` replaces the oldest.
pub(crate) const MAXIMUM_QUEUED_EVENTS: usize = 10_000;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The pause before the next attempt to reach the agent: 50 ms, doubling to 5 s.
pub(crate) fn pause(attempt: u32) -> Duration {
    (FIRST_PAUSE * 2_u32.pow(attempt.min(16))).min(LONGEST_PAUSE)
}

/// The events of one subscription, over any number of connections.
///
/// After a reconnection the feed asks for the events since the last one that it received. If the agent no longer has
/// them, the consumer gets an event of type `event.gap` in their place.
pub(crate) struct Feed {
    wanted: EventSubscribeParams,
    state: Mutex<State>,
    changed: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct State {
    subscription: Option<String>,
    position: Option<EventPosition>,
    taken_until: Option<EventPosition>,
    queue: VecDeque<Event>,
}

impl Feed {
    /// `changed` is called after an event was queued.
    pub fn new(wanted: EventSubscribeParams, changed: impl Fn() + Send + Sync + 'static) -> Self {
        let state = State { position: wanted.since.clone(), ..State::default() };
        Feed { wanted, state: Mutex::new(state), changed: Box::new(changed) }
    }

    /// The position of the last event that arrived.
    pub fn position(&self) -> Option<EventPosition> {
        self.state().position.clone()
    }

    pub fn subscription(&self) -> Option<String> {
        self.state().subscription.clone()
    }

    pub fn is_ready(&self) -> bool {
        !self.state().queue.is_empty()
    }

    pub fn take(&self) -> Option<Event> {
        self.state().queue.pop_front()
    }

    /// The params for the next `event.subscribe`.
    pub fn params(&self) -> EventSubscribeParams {
        EventSubscribeParams { since: self.position(), ..self.wanted.clone() }
    }

    /// Handles the answer of `event.subscribe`. Returns the name of the subscription.
    pub fn subscribed(&self, result: &str) -> Result<String> {
        let result = EventSubscribeResult::from_json(result).map_err(|m| Error::answer("event.subscribe", &m))?;
        let mut state = self.state();
        state.subscription = Some(result.subscription.clone());
        let told = EventPosition { epoch: result.epoch, sequence: result.sequence, extra: Extra::default() };
        match state.position.take() {
            // The replay may begin with events that arrived already.
            Some(position) if !result.gap && position.epoch == told.epoch => {
                state.taken_until = Some(position.clone());
                state.position = Some(position);
            }
            resumed => {
                state.taken_until = None;
                state.position = Some(told);
                if resumed.is_some() {
                    let gap = state.gap();
                    state.queue.push_back(gap);
                }
            }
        }
        drop(state);
        (self.changed)();
        Ok(result.subscription)
    }

    /// Queues an event for the consumer, unless it arrived before.
    pub fn receive(&self, event: Event) {
        let mut state = self.state();
        if let Some(until) = &state.taken_until {
            if event.epoch == until.epoch && event.sequence <= until.sequence {
                return;
            }
        }
        state.position =
            Some(EventPosition { epoch: event.epoch.clone(), sequence: event.sequence, extra: Extra::default() });
        state.queue.push_back(event);
        if state.queue.len() > MAXIMUM_QUEUED_EVENTS {
            state.queue.pop_front();
            let gap = state.gap();
            state.queue[0] = gap;
        }
        drop(state);
        (self.changed)();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn gap(&self) -> Event {
        let position = self.position.as_ref();
        Event {
            subscription: self.subscription.clone().unwrap_or_default(),
            epoch: position.map(|position| position.epoch.clone()).unwrap_or_default(),
            sequence: position.map_or(0, |position| position.sequence),
            type_: EventType::EventGap,
            account: None,
            at: Timestamp::now(),
            data: Map::new(),
            extra: Extra::default(),
        }
    }
}
