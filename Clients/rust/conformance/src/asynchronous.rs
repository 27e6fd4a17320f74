use std::cell::RefCell;
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use std::thread;
use std::time::Instant;

use lanyard::{AsyncClient, AsyncEventStream, Authorized, Json, Result, SendError};
use serde_json::json;
use tokio::sync::{mpsc::unbounded_channel, Notify};
use tokio::task::{spawn_local, LocalSet};

use crate::command::{commands, Command};
use crate::fetch::fetch;
use crate::outcome::{answer, failed, say, shown};
use crate::typed;

#[derive(Default)]
struct Driver {
    clients: RefCell<HashMap<String, AsyncClient>>,
    cancelled: RefCell<HashMap<String, Rc<Notify>>>,
    streams: RefCell<HashMap<String, Rc<AsyncEventStream>>>,
    shown: RefCell<HashMap<String, String>>,
}

pub fn run() {
    let (sender, mut received) = unbounded_channel();
    thread::spawn(move || commands().try_for_each(|command| sender.send(command)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    LocalSet::new().block_on(&runtime, async {
        let driver = Rc::new(Driver::default());
        while let Some(command) = received.recv().await {
            // A cancellation must find the call that it is for.
            driver.cancelled.borrow_mut().insert(command.id(), Rc::default());
            spawn_local(Rc::clone(&driver).begin(command));
        }
        for client in driver.clients.borrow().values() {
            client.close();
        }
    });
}

impl Driver {
    async fn begin(self: Rc<Self>, command: Command) {
        let id = command.id();
        match command.the("do") {
            "open" => self.open(&command, &id).await,
            "call" => {
                let client = self.client(&command);
                let call = client.call(command.the("method"), command.params());
                self.cancellable(&id, async { answer(&id, call.await.map(|value| value.to_string())) }).await;
            }
            "typed" => {
                let client = self.client(&command);
                let text = command.params().to_string();
                let call = async {
                    let result = typed::call_async(&client, command.the("method"), &text).await;
                    let text = result.as_ref().map_or_else(shown, |typed| typed.shown.clone());
                    self.shown.borrow_mut().insert(id.clone(), text);
                    answer(&id, result.map(|typed| typed.json));
                };
                self.cancellable(&id, call).await;
            }
            "cancel" => {
                let cancelled = Rc::clone(&self.cancelled.borrow()[command.the("of")]);
                cancelled.notify_one();
                answer(&id, Ok("{}".into()));
            }
            "show" => {
                let text = self.shown.borrow()[command.the("of")].clone();
                answer(&id, Ok(json!({ "text": text }).to_string()));
            }
            "events" => self.stream(&command, &id).await,
            "position" => {
                let stream = self.streams.borrow().get(command.the("of")).cloned();
                let position = stream.and_then(|stream| stream.position());
                answer(&id, Ok(position.map_or("null".into(), |position| position.to_json().to_string())));
            }
            "stop" => {
                let stream = self.streams.borrow().get(command.the("of")).cloned();
                if let Some(stream) = stream {
                    stream.close().await;
                }
                answer(&id, Ok("{}".into()));
            }
            "http" => match http(&self.client(&command), &command).await {
                Ok(result) => answer(&id, Ok(result)),
                Err(SendError::Lanyard(error)) => answer(&id, Err(error)),
                Err(SendError::Http(_)) => failed(&id, "connectionLost"),
            },
            "load" => answer(&id, load(&self.client(&command), &command).await),
            "close" => {
                self.client(&command).close();
                answer(&id, Ok("{}".into()));
            }
            other => panic!("no command {other}"),
        }
    }

    async fn open(&self, command: &Command, id: &str) {
        let mut builder = AsyncClient::builder();
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
        self.clients.borrow_mut().insert(command.the("client").to_owned(), client.clone());
        if command.flag("connect") != Some(true) {
            return answer(id, Ok("{}".into()));
        }
        match client.connect().await {
            // The result is of the contract's type, if the agent keeps to that.
            Ok(()) => {
                let hello = client.hello().await;
                answer(id, Ok(hello.map_or("{}".into(), |hello| hello.to_json().to_string())));
            }
            Err(error) => answer(id, Err(error)),
        }
    }

    fn client(&self, command: &Command) -> AsyncClient {
        let client = self.clients.borrow()[command.the("client")].clone();
        match command.timeout() {
            Some(timeout) => client.within(timeout),
            None => client,
        }
    }

    /// Drops the call when it is cancelled, as a program does.
    async fn cancellable(&self, id: &str, call: impl Future<Output = ()>) {
        let cancelled = Rc::clone(&self.cancelled.borrow()[id]);
        let is_cancelled = tokio::select! {
            biased;
            () = call => false,
            () = cancelled.notified() => true,
        };
        if is_cancelled {
            failed(id, "cancelled");
        }
    }

    async fn stream(&self, command: &Command, id: &str) {
        let stream = match self.client(command).events(command.wanted()).await {
            Ok(stream) => Rc::new(stream),
            Err(error) => return answer(id, Err(error)),
        };
        self.streams.borrow_mut().insert(id.to_owned(), Rc::clone(&stream));
        answer(id, Ok("{}".into()));
        while let Some(event) = stream.next().await {
            match event {
                Ok(event) => say(&format!(r#"{{"id":"{id}","event":{}}}"#, *event.to_json())),
                Err(error) => return answer(id, Err(error)),
            }
        }
        say(&json!({"id": id, "ended": true}).to_string());
    }
}

async fn http(client: &AsyncClient, command: &Command) -> std::result::Result<String, SendError<std::io::Error>> {
    let (method, url) = (command.text("method").unwrap_or("GET").to_owned(), command.the("url").to_owned());
    let body = command.text("body").unwrap_or_default().to_owned();
    let origins = command.texts("origins").unwrap_or_default();
    let account = Authorized::new(client, command.token(), origins)?;
    account
        .send(&method, &url, |credentials| {
            let (method, url, body) = (method.clone(), url.clone(), body.clone());
            async move {
                let sent = tokio::task::spawn_blocking(move || fetch(&method, &url, &body, &credentials));
                sent.await.expect("the request does not panic")
            }
        })
        .await
}

async fn load(client: &AsyncClient, command: &Command) -> Result<String> {
    let (count, callers) = (command.number("count").unwrap_or(0), command.number("callers").unwrap_or(1).max(1));
    client.connect().await?;
    let began = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let (client, account) = (client.clone(), command.the("account").to_owned());
            let mine = count / callers + u64::from(caller < count % callers);
            tokio::spawn(async move {
                for _ in 0..mine {
                    client.token().get(account.as_str()).await?;
                }
                Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a caller does not panic")?;
    }
    Ok(json!({"seconds": began.elapsed().as_secs_f64()}).to_string())
}
