#![doc = include_str!("../README.md")]
#![warn(missing_docs, rust_2018_idioms)]

#[cfg(not(unix))]
compile_error!("the agent is reached over a unix socket");

// Before the modules that use its macros.
#[macro_use]
mod tables;

#[cfg(feature = "tokio")]
mod asynchronous;
mod cancellation;
mod client;
mod error;
mod events;
mod feed;
#[rustfmt::skip]
#[allow(clippy::large_enum_variant, clippy::should_implement_trait, clippy::too_many_arguments, unused_imports)]
mod generated;
mod http;
mod json;
mod link;
mod locate;
mod protocol;
mod secret;
mod settings;
mod starting;
mod sync;
mod sys;
mod timestamp;
mod wiped;

#[cfg(feature = "tokio")]
pub use asynchronous::{AsyncClient, AsyncClientBuilder, AsyncEventStream};
pub use cancellation::Cancellation;
pub use client::{Client, ClientBuilder};
pub use error::{Error, ErrorKind, Result};
pub use events::EventStream;
pub use generated::*;
pub use http::{Authorized, Credentials, Reply, SendError};
pub use json::{Extra, Json, Malformed};
pub use locate::default_socket_path;
pub use secret::Secret;
pub use timestamp::{InvalidTimestamp, Timestamp};

/// An event, as a stream brings it.
pub type Event = EventNotification;
