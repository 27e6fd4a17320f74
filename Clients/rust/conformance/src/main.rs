//! Drives the Rust client for the conformance run (`Clients/conformance/README.md`).

mod asynchronous;
mod blocking;
mod command;
mod fetch;
mod outcome;
#[allow(clippy::large_stack_frames)]
mod typed;

fn main() {
    match std::env::var("LANYARD_VARIANT").as_deref() {
        Ok("tokio") => asynchronous::run(),
        _ => blocking::run(),
    }
    // Threads may still wait for what comes no more.
    std::process::exit(0);
}
