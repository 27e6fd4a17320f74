use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::link::Link;
use crate::sync::lock;

/// Cancels blocking calls from another thread.
///
/// ```no_run
/// let client = lanyard::Client::new();
/// let cancellation = lanyard::Cancellation::new();
/// let canceller = cancellation.clone();
/// std::thread::spawn(move || canceller.cancel());
/// match client.cancelled_by(&cancellation).token().get("work") {
///     Err(error) if error.kind() == lanyard::ErrorKind::Cancelled => println!("cancelled"),
///     token => println!("{:?}", token?.expires_at),
/// }
/// # Ok::<(), lanyard::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Cancellation(Arc<State>);

#[derive(Default)]
struct State {
    cancelled: AtomicBool,
    links: Mutex<Vec<Weak<Link>>>,
}

impl Cancellation {
    /// A cancellation that has not happened.
    pub fn new() -> Self {
        Cancellation::default()
    }

    /// Ends the calls that wait for their answers, and all later ones, with
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled). Their requests are cancelled in the agent.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        let links: Vec<_> = lock(&self.0.links).iter().filter_map(Weak::upgrade).collect();
        for link in links {
            link.wake_all();
        }
    }

    /// True after `cancel`.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// `cancel` wakes the callers of `link` while the result lives.
    pub(crate) fn watch<'a>(&'a self, link: &Arc<Link>) -> Watch<'a> {
        let link = Arc::downgrade(link);
        lock(&self.0.links).push(link.clone());
        Watch { cancellation: self, link }
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Cancellation").field(&self.is_cancelled()).finish()
    }
}

pub(crate) struct Watch<'a> {
    cancellation: &'a Cancellation,
    link: Weak<Link>,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut links = lock(&self.cancellation.0.links);
        if let Some(at) = links.iter().position(|link| link.ptr_eq(&self.link)) {
            links.swap_remove(at);
        }
    }
}
