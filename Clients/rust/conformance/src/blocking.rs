use std::collections::HashMap;
use std::fs;
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use lanyard::{Authorized, Cancellation, Client, Error, EventStream, Json, Result, SendError};
use serde_json::json;

use crate::command::{commands, Command};
use crate::fetch::fetch;
use crate::outcome::{answer, failed, say, shown};
use crate::typed;

#[derive(Default)]
struct Driver {
    clients: HashMap<String, Client>,
    cancellations: HashMap<String, Cancellation>,
    streams: Arc<Mutex<HashMap<String, Arc<EventStream>>>>,
    shown: Arc<Mutex<HashMap<String, String>>>,
}

pub fn run() {
    let mut driver = Driver::default();
    for command in commands() {
        driver.begin(command);
    }
    for client in driver.clients.values() {
        client.close();
    }
}

impl Driver {
    fn begin(&mut self, command: Command) {
        let id = command.id();
        match command.the("do") {
            "open" => self.open(command, id),
            "call" => {
                let client = self.client(&command);
                begun(move || {
                    let result = client.call(command.the("method"), command.params());
                    answer(&id, result.map(|value| value.to_string()));
                });
            }
            "typed" => {
                let (client, texts) = (self.client(&command), Arc::clone(&self.shown));
                begun(move || {
                    let result = typed::call(&client, command.the("method"), &command.params().to_string());
                    let text = result.as_ref().map_or_else(shown, |typed| typed.shown.clone());
                    texts.lock().unwrap().insert(id.clone(), text);
                    answer(&id, result.map(|typed| typed.json));
                });
            }
            "cancel" => {
                self.cancellations[command.the("of")].cancel();
                answer(&id, Ok("{}".into()));
            }
            "show" => {
                let text = self.shown.lock().unwrap()[command.the("of")].clone();
                answer(&id, Ok(json!({ "text": text }).to_string()));
            }
            "events" => {
                let (client, streams) = (self.clients[command.the("client")].clone(), Arc::clone(&self.streams));
                begun(move || stream(&client, &command, &id, &streams));
            }
            "position" => {
                let position = self.stream(&command).and_then(|stream| stream.position());
                answer(&id, Ok(position.map_or("null".into(), |position| position.to_json().to_string())));
            }
            "stop" => {
                let stream = self.stream(&command);
                begun(move || {
                    if let Some(stream) = stream {
                        stream.close();
                    }
                    answer(&id, Ok("{}".into()));
                });
            }
            "http" => {
                let client = self.client(&command);
                begun(move || match http(&client, &command) {
                    Ok(result) => answer(&id, Ok(result)),
                    Err(SendError::Lanyard(error)) => answer(&id, Err(error)),
                    Err(SendError::Http(_)) => failed(&id, "connectionLost"),
                });
            }
            "load" => {
                let client = self.client(&command);
                begun(move || answer(&id, load(&client, &command)));
            }
            "close" => {
                self.clients[command.the("client")].close();
                answer(&id, Ok("{}".into()));
            }
            other => panic!("no command {other}"),
        }
    }

    fn open(&mut self, command: Command, id: String) {
        let mut builder = Client::builder();
        if let Some(path) = command.text("socket") {
            builder = builder.socket(path);
        }
        if let Some(start) = command.flag("start") {
            builder = builder.start(start);
        }
        if let Some(grant) = command.text("grant") {
            builder = builder.grant(grant);
        }
        if let Some(name) = command.text("name") {
            builder = builder.name(name);
        }
        if let Some(version) = command.text("version") {
            builder = builder.version(version);
        }
        if let Some(timeout) = command.timeout() {
            builder = builder.timeout(timeout);
        }
        let client = builder.build();
        self.clients.insert(command.the("client").to_owned(), client.clone());
        if command.flag("connect") != Some(true) {
            return answer(&id, Ok("{}".into()));
        }
        begun(move || {
            // The result is of the contract's type, if the agent keeps to that.
            let hello = || client.hello().map_or("{}".into(), |hello| hello.to_json().to_string());
            answer(&id, client.connect().map(|()| hello()));
        });
    }

    /// The client of a call, which ends by its time-out and by `cancel`.
    fn client(&mut self, command: &Command) -> Client {
        let cancellation = Cancellation::new();
        let client = self.clients[command.the("client")].cancelled_by(&cancellation);
        self.cancellations.insert(command.id(), cancellation);
        match command.timeout() {
            Some(timeout) => client.within(timeout),
            None => client,
        }
    }

    fn stream(&self, command: &Command) -> Option<Arc<EventStream>> {
        self.streams.lock().unwrap().get(command.the("of")).cloned()
    }
}

fn stream(client: &Client, command: &Command, id: &str, streams: &Mutex<HashMap<String, Arc<EventStream>>>) {
    let stream = match client.events(command.wanted()) {
        Ok(stream) => Arc::new(stream),
        Err(error) => return answer(id, Err(error)),
    };
    streams.lock().unwrap().insert(id.to_owned(), Arc::clone(&stream));
    answer(id, Ok("{}".into()));
    for event in &*stream {
        match event {
            Ok(event) => say(&format!(r#"{{"id":"{id}","event":{}}}"#, *event.to_json())),
            Err(error) => return answer(id, Err(error)),
        }
    }
    say(&json!({"id": id, "ended": true}).to_string());
}

fn http(client: &Client, command: &Command) -> std::result::Result<String, SendError<std::io::Error>> {
    let (method, url) = (command.text("method").unwrap_or("GET"), command.the("url"));
    let body = command.text("body").unwrap_or_default();
    let origins = command.texts("origins").unwrap_or_default();
    let account = Authorized::new(client, command.token(), origins)?;
    account.send(method, url, |credentials| fetch(method, url, body, credentials))
}

fn load(client: &Client, command: &Command) -> Result<String> {
    let (count, callers) = (command.number("count").unwrap_or(0), command.number("callers").unwrap_or(1).max(1));
    client.connect()?;
    let began = Instant::now();
    let account = command.the("account");
    thread::scope(|scope| {
        let work = |caller| {
            let mine = count / callers + u64::from(caller < count % callers);
            (0..mine).try_for_each(|_| client.token().get(account).map(drop))
        };
        let threads: Vec<_> = (0..callers).map(|caller| scope.spawn(move || work(caller))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a caller does not panic"))
    })
    .map(|()| json!({"seconds": began.elapsed().as_secs_f64()}).to_string())
    .map_err(|error: Error| error)
}

/// Runs the work in a thread of its own, and waits until it has begun: until it waits for something, or has ended. So
/// the requests leave in the order of their commands.
fn begun(work: impl FnOnce() + Send + 'static) {
    let (told, number): (Sender<i32>, _) = channel();
    thread::spawn(move || {
        // SAFETY: it always succeeds.
        let _ = told.send(unsafe { libc::gettid() });
        work();
    });
    let number = number.recv().expect("the thread runs");
    let latest = Instant::now() + Duration::from_millis(50);
    while Instant::now() < latest {
        let status = fs::read_to_string(format!("/proc/self/task/{number}/stat")).unwrap_or_default();
        match status.rsplit(") ").next().and_then(|fields| fields.chars().next()) {
            Some('R') => thread::yield_now(),
            _ => return,
        }
    }
}
