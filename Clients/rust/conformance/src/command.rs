use std::io::BufRead;
use std::time::Duration;

use lanyard::{EventSubscribeParams, Json, TokenGetParams};
use serde_json::Value;

/// One line of standard input.
#[derive(Clone)]
pub struct Command(Value);

impl Command {
    pub fn text(&self, member: &str) -> Option<&str> {
        self.0[member].as_str()
    }

    /// A member that must be there.
    pub fn the(&self, member: &str) -> &str {
        self.text(member).unwrap_or_else(|| panic!("the command has no {member}"))
    }

    pub fn id(&self) -> String {
        self.the("id").to_owned()
    }

    pub fn flag(&self, member: &str) -> Option<bool> {
        self.0[member].as_bool()
    }

    pub fn number(&self, member: &str) -> Option<u64> {
        self.0[member].as_u64()
    }

    pub fn timeout(&self) -> Option<Duration> {
        self.number("timeoutMs").map(Duration::from_millis)
    }

    pub fn params(&self) -> &Value {
        &self.0["params"]
    }

    pub fn texts(&self, member: &str) -> Option<Vec<&str>> {
        let list = self.0[member].as_array()?;
        Some(list.iter().filter_map(Value::as_str).collect())
    }

    /// The params of `event.subscribe` for `events`.
    pub fn wanted(&self) -> EventSubscribeParams {
        let wanted = ["types", "accounts", "since"].map(|name| (name.to_owned(), self.0[name].clone()));
        let given = wanted.into_iter().filter(|(_, value)| !value.is_null());
        let text = Value::Object(given.collect()).to_string();
        EventSubscribeParams::from_json(&text).expect("params of event.subscribe")
    }

    /// The token of `http`.
    pub fn token(&self) -> TokenGetParams {
        let mut params = TokenGetParams::new(self.the("account"));
        if let Some(scopes) = self.texts("scopes") {
            params = params.scopes(scopes);
        }
        if let Some(resource) = self.text("resource") {
            params = params.resource(resource);
        }
        params
    }
}

/// The commands, until the end of the input.
pub fn commands() -> impl Iterator<Item = Command> {
    let lines = std::io::stdin().lock().lines().map_while(|line| line.ok());
    lines.map(|line| Command(serde_json::from_str(&line).expect("a command is JSON")))
}
