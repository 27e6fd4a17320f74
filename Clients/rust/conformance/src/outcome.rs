use std::fmt::Debug;
use std::io::Write;

use lanyard::{Error, ErrorKind, Json, Result};
use serde_json::{json, Value};

/// A typed result: as JSON, and as it prints.
pub struct Typed {
    pub json: String,
    pub shown: String,
}

pub fn params<T: Json>(text: &str) -> T {
    T::from_json(text).expect("params of the contract")
}

pub fn ended<T: Json + Debug>(result: Result<T>) -> Result<Typed> {
    let value = result?;
    Ok(Typed { json: value.to_json().to_string(), shown: shown(&value) })
}

pub fn shown(value: &impl Debug) -> String {
    format!("{value:?}\n{value:#?}")
}

/// Calls the generated method of a name, with each of the clients.
macro_rules! calls {
    ($($method:literal $namespace:ident $verb:ident($($params:ty)?))+) => {
        pub fn call(client: &Client, method: &str, text: &str) -> Result<Typed> {
            match method {
                $($method => ended(client.$namespace().$verb($(params::<$params>(text))?)),)+
                other => panic!("no method {other}"),
            }
        }

        pub async fn call_async(client: &AsyncClient, method: &str, text: &str) -> Result<Typed> {
            match method {
                $($method => ended(client.$namespace().$verb($(params::<$params>(text))?).await),)+
                other => panic!("no method {other}"),
            }
        }
    };
}

pub(crate) use calls;

pub fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    // The run may have closed the pipe.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

pub fn answer(id: &str, result: Result<String>) {
    match result {
        Ok(json) => say(&format!(r#"{{"id":{},"result":{json}}}"#, Value::from(id))),
        Err(error) => say(&json!({"id": id, "error": described(&error)}).to_string()),
    }
}

pub fn failed(id: &str, kind: &str) {
    let error = json!({"kind": kind, "name": kind, "message": "", "retryable": false, "remedies": [], "data": {}});
    say(&json!({"id": id, "error": error}).to_string());
}

fn described(error: &Error) -> Value {
    let kind = match error.kind() {
        ErrorKind::Agent(_) => "agent",
        _ => error.name(),
    };
    let mut told = json!({
        "kind": kind,
        "name": error.name(),
        "message": error.message(),
        "retryable": error.retryable(),
        "remedies": error.remedies(),
        "data": error.data(),
    });
    let optional = [
        ("code", error.code().map(Value::from)),
        ("retryAfterMs", error.retry_after().map(|pause| Value::from(pause.as_millis() as u64))),
        ("reason", error.reason().map(Value::from)),
        ("account", error.account().map(Value::from)),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            told[name] = value;
        }
    }
    told
}
