//! Prints the events of the agent, until it is interrupted: `cargo run --example events`.

use lanyard::{Client, EventSubscribeParams};

fn main() -> Result<(), lanyard::Error> {
    for event in Client::new().events(EventSubscribeParams::new())? {
        let event = event?;
        println!("{} {} {}", event.at, event.type_, event.account.as_deref().unwrap_or("-"));
    }
    Ok(())
}
