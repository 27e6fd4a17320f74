//! The client for async programs.

mod client;
mod events;
mod http;
mod link;

pub use client::{AsyncClient, AsyncClientBuilder};
pub use events::AsyncEventStream;
