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
    /// Of the last event that arrived.
    position: Option<EventPosition>,
    /// Of the last event that the consumer took.
    taken: Option<EventPosition>,
    taken_until: Option<EventPosition>,
    queue: VecDeque<Event>,
}

impl Feed {
    /// `changed` is called after an event was queued.
    pub fn new(wanted: EventSubscribeParams, changed: impl Fn() + Send + Sync + 'static) -> Self {
        let state = State { position: wanted.since.clone(), taken: wanted.since.clone(), ..State::default() };
        Feed { wanted, state: Mutex::new(state), changed: Box::new(changed) }
    }

    /// The position of the last event that the consumer took.
    pub fn position(&self) -> Option<EventPosition> {
        self.state().taken.clone()
    }

    pub fn subscription(&self) -> Option<String> {
        self.state().subscription.clone()
    }

    pub fn is_ready(&self) -> bool {
        !self.state().queue.is_empty()
    }

    pub fn take(&self) -> Option<Event> {
        let mut state = self.state();
        let event = state.queue.pop_front()?;
        state.taken = Some(position_of(&event));
        Some(event)
    }

    /// The params for the next `event.subscribe`.
    pub fn params(&self) -> EventSubscribeParams {
        EventSubscribeParams { since: self.state().position.clone(), ..self.wanted.clone() }
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
                state.position = Some(told.clone());
                match resumed {
                    Some(before) => {
                        // In another epoch nothing is known of what was missed.
                        let first = if before.epoch == told.epoch { before.sequence + 1 } else { 0 };
                        let gap = state.gap(first, told);
                        state.queue.push_back(gap);
                    }
                    None => state.taken = Some(told),
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
        state.position = Some(position_of(&event));
        state.queue.push_back(event);
        if state.queue.len() > MAXIMUM_QUEUED_EVENTS {
            if let Some(dropped) = state.queue.pop_front() {
                let is_gap = dropped.type_ == EventType::EventGap;
                let from = dropped.data.get("from").and_then(serde_json::Value::as_u64).filter(|_| is_gap);
                // The position is that of the last event that is lost, so that those behind it are not passed over.
                let last = position_of(&state.queue[0]);
                let gap = state.gap(from.unwrap_or(dropped.sequence), last);
                state.queue[0] = gap;
            }
        }
        drop(state);
        (self.changed)();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn position_of(event: &Event) -> EventPosition {
    EventPosition { epoch: event.epoch.clone(), sequence: event.sequence, extra: Extra::default() }
}

impl State {
    /// The event that stands for those from a sequence up to a position.
    fn gap(&self, from: u64, until: EventPosition) -> Event {
        let mut data = Map::new();
        data.insert("from".into(), from.min(until.sequence).into());
        data.insert("to".into(), until.sequence.into());
        Event {
            subscription: self.subscription.clone().unwrap_or_default(),
            epoch: until.epoch,
            sequence: until.sequence,
            type_: EventType::EventGap,
            account: None,
            at: Timestamp::now(),
            data,
            extra: Extra::default(),
        }
    }
}
