//! Locks with a deadline.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// `None` for no deadline.
pub(crate) type Deadline = Option<Instant>;

/// Locks. A poisoned lock is taken as it is: no code of the crate panics between two changes that belong together.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a notification, until the deadline. It may return early.
pub(crate) fn park<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>, deadline: Deadline) -> MutexGuard<'a, T> {
    match deadline {
        None => condvar.wait(guard).unwrap_or_else(PoisonError::into_inner),
        Some(deadline) => {
            let remaining = deadline.saturating_duration_since(Instant::now());
            condvar.wait_timeout(guard, remaining).unwrap_or_else(PoisonError::into_inner).0
        }
    }
}

pub(crate) fn is_over(deadline: Deadline) -> bool {
    deadline.map_or(false, |deadline| deadline <= Instant::now())
}

/// The earlier of the deadline and `limit` from now.
pub(crate) fn at_most(deadline: Deadline, limit: Duration) -> Instant {
    let latest = Instant::now() + limit;
    deadline.map_or(latest, |deadline| deadline.min(latest))
}

/// A lock for a section that waits for the agent, so that others wait for it with their own deadlines.
#[derive(Default)]
pub(crate) struct Gate {
    taken: Mutex<bool>,
    freed: Condvar,
}

pub(crate) struct Passage<'a>(&'a Gate);

impl Gate {
    /// `None` if the deadline came first.
    pub fn enter(&self, deadline: Deadline) -> Option<Passage<'_>> {
        let mut taken = lock(&self.taken);
        while *taken {
            if is_over(deadline) {
                return None;
            }
            taken = park(&self.freed, taken, deadline);
        }
        *taken = true;
        Some(Passage(self))
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        *lock(&self.0.taken) = false;
        self.0.freed.notify_one();
    }
}

/// A flag that is raised once, and that threads wait for.
#[derive(Default)]
pub(crate) struct Flag {
    raised: Mutex<bool>,
    changed: Condvar,
}

impl Flag {
    pub fn raise(&self) {
        *lock(&self.raised) = true;
        self.changed.notify_all();
    }

    pub fn is_raised(&self) -> bool {
        *lock(&self.raised)
    }

    /// Waits until the flag is raised, or until the deadline. True if it is raised.
    pub fn wait_until(&self, deadline: Instant) -> bool {
        let mut raised = lock(&self.raised);
        while !*raised && !is_over(Some(deadline)) {
            raised = park(&self.changed, raised, Some(deadline));
        }
        *raised
    }
}
