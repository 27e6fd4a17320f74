//! A scripted agent on a real socket: answers requests as a test says.

#![allow(dead_code)]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::thread;
use std::time::Duration;
use std::{env, fs, process};

use serde_json::{json, Value};

/// What must come comes within this time, also on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A directory of its own, which is removed at the end.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("lanyard-rust-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Listens at a socket. Each connection is a `Peer`.
pub struct Agent {
    pub path: PathBuf,
    _place: Place,
    listener: UnixListener,
}

impl Agent {
    pub fn new() -> Self {
        let place = Place::new();
        let path = place.join("agent.sock");
        let listener = UnixListener::bind(&path).unwrap();
        Agent { path, _place: place, listener }
    }

    pub fn client(&self) -> lanyard::Client {
        lanyard::Client::builder().socket(&self.path).build()
    }

    /// The next connection.
    pub fn peer(&self) -> Peer {
        Peer::new(self.listener.accept().unwrap().0)
    }

    /// The next connection, after its `agent.hello`.
    pub fn greeted(&self) -> Peer {
        let peer = self.peer();
        peer.greet();
        peer
    }

    /// Answers every request on every connection by `answer`, for ever.
    pub fn serve(self, answer: impl Fn(&str, &Value) -> Value + Send + Sync + Clone + 'static) -> PathBuf {
        let path = self.path.clone();
        thread::spawn(move || loop {
            let (peer, answer) = (self.peer(), answer.clone());
            thread::spawn(move || {
                while let Some(request) = peer.next() {
                    let method = request["method"].as_str().unwrap();
                    match method {
                        "agent.hello" => peer.answer(&request, hello()),
                        _ => peer.answer(&request, answer(method, &request["params"])),
                    }
                }
            });
        });
        path
    }
}

/// One connection of a client, seen from the agent.
pub struct Peer {
    stream: UnixStream,
    requests: Receiver<Value>,
}

impl Peer {
    fn new(stream: UnixStream) -> Self {
        let (sender, requests) = channel();
        let reader = BufReader::new(stream.try_clone().unwrap());
        thread::spawn(move || {
            for line in reader.lines().map_while(|line| line.ok()) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        Peer { stream, requests }
    }

    /// The next request; `None` if the client has gone.
    pub fn next(&self) -> Option<Value> {
        self.requests.recv().ok()
    }

    /// The next request or notification, which must be of this method.
    pub fn request(&self, method: &str) -> Value {
        let request = self.requests.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no {method}"));
        assert_eq!(request["method"], method);
        request
    }

    pub fn silent(&self) {
        let request = self.requests.recv_timeout(Duration::from_millis(100));
        assert!(request.is_err(), "{request:?} came unasked");
    }

    pub fn greet(&self) -> Value {
        let request = self.request("agent.hello");
        self.answer(&request, hello());
        request["params"].clone()
    }

    pub fn subscribe(&self, sequence: u64) -> Value {
        let request = self.request("event.subscribe");
        let result = json!({"subscription": "sub-1", "epoch": "epoch-1", "sequence": sequence, "gap": false});
        self.answer(&request, result);
        request["params"].clone()
    }

    pub fn answer(&self, request: &Value, result: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    pub fn fail(&self, request: &Value, code: i64, data: Value) {
        let error = json!({"code": code, "message": "a message for a person", "data": data});
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
    }

    pub fn event(&self, sequence: u64, kind: &str, data: Value) {
        let params = json!({
            "subscription": "sub-1", "epoch": "epoch-1", "sequence": sequence, "type": kind,
            "at": "2030-01-01T00:00:00.000Z", "data": data,
        });
        self.say(&json!({"jsonrpc": "2.0", "method": "event", "params": params}));
    }

    pub fn say(&self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    pub fn raw(&self, bytes: &[u8]) {
        (&self.stream).write_all(bytes).unwrap();
    }

    pub fn hang_up(&self) {
        self.stream.shutdown(std::net::Shutdown::Both).unwrap();
    }
}

pub fn hello() -> Value {
    json!({
        "name": "scripted", "version": "0", "protocol": "1", "instance": "instance-1", "features": ["token"],
        "limits": {
            "lineBytes": 65536, "bodyLineBytes": 1048576, "nesting": 64, "requestsInFlight": 128,
            "connections": 1024, "lineSeconds": 10, "eventBacklogBytes": 1048576,
        },
    })
}

pub fn token() -> Value {
    json!({
        "accessToken": "not-a-real-access-token", "tokenType": "Bearer", "expiresAt": "2030-01-01T00:05:00.000Z",
        "expiresInSeconds": 300, "account": "acc_c2ztq4xk7m3vwy5ndhb6rfgupa", "issuer": "https://idp.example",
        "scopes": ["openid"], "source": "cache", "fingerprint": "k3Jt0Qe1", "generation": 7,
    })
}

/// Where the crates of a test's own build come from: as this build's, if they come from a directory.
pub fn cargo_sources() -> Vec<String> {
    let registry = "/usr/share/cargo/registry";
    if !Path::new(registry).join("serde_json-1.0.87").exists() && !Path::new(registry).exists() {
        return Vec::new();
    }
    let replace = r#"source.crates-io.replace-with="debian""#;
    let directory = format!(r#"source.debian.directory="{registry}""#);
    vec!["--config".into(), replace.into(), "--config".into(), directory]
}
