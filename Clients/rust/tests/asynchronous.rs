//! The async client against a scripted agent.

#![cfg(feature = "tokio")]

mod support;

use std::future::Future;
use std::thread;
use std::time::Duration;

use lanyard::{AsyncClient, Authorized, ErrorKind, EventSubscribeParams, Reply};
use serde_json::{json, Value};
use support::{token, Agent};

/// Runs the future on a runtime while the test plays the agent.
fn beside<T: Send>(work: impl Future<Output = T> + Send, play: impl FnOnce()) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(work)
        });
        play();
        thread.join().unwrap()
    })
}

fn client(agent: &Agent) -> AsyncClient {
    AsyncClient::builder().socket(&agent.path).build()
}

#[test]
fn the_client_and_its_futures_are_for_many_threads() {
    fn is_sent<T: Send>(_: T) {}
    fn is_shared<T: Send + Sync + Clone + 'static>() {}
    is_shared::<AsyncClient>();
    let client = AsyncClient::new();
    is_sent(client.token().get("work"));
    is_sent(client.call("token.get", &Value::Null));
    is_sent(client.events(EventSubscribeParams::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_serves_many_tasks() {
    let path = Agent::new().serve(|_, params| json!({"for": params["account"]}));
    let client = AsyncClient::builder().socket(path).build();
    let tasks: Vec<_> = (0..300)
        .map(|caller| {
            let client = client.clone();
            tokio::spawn(async move {
                let name = caller.to_string();
                let result = client.call("token.get", &json!({ "account": name })).await.unwrap();
                assert_eq!(result, json!({ "for": name }));
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[test]
fn dropping_a_call_cancels_its_request() {
    let agent = Agent::new();
    let client = client(&agent);
    let work = async {
        client.connect().await.unwrap();
        let call = tokio::time::timeout(Duration::from_millis(100), client.token().get("work"));
        assert!(call.await.is_err());
        client.call("account.list", &Value::Null).await.unwrap()
    };
    let result = beside(work, || {
        let peer = agent.greeted();
        let request = peer.request("token.get");
        assert_eq!(peer.request("$/cancel")["params"], json!({"id": request["id"]}));
        peer.answer(&peer.request("account.list"), json!({"ok": true}));
    });
    assert_eq!(result, json!({"ok": true}));
}

#[test]
fn a_timeout_is_an_error_of_the_client() {
    let agent = Agent::new();
    let client = client(&agent);
    let work = async {
        let error = client.within(Duration::from_millis(100)).token().get("work").await.unwrap_err();
        client.call("account.list", &Value::Null).await.unwrap();
        error
    };
    let error = beside(work, || {
        let peer = agent.greeted();
        peer.request("token.get");
        peer.request("$/cancel");
        peer.answer(&peer.request("account.list"), json!({}));
    });
    assert_eq!(error.kind(), ErrorKind::CallTimeout);
}

#[test]
fn a_stream_resumes_after_its_connection() {
    let agent = Agent::new();
    let client = client(&agent);
    let work = async {
        let stream = client.events(EventSubscribeParams::new()).await.unwrap();
        let mut sequences = Vec::new();
        for _ in 0..3 {
            sequences.push(stream.next().await.unwrap().unwrap().sequence);
        }
        stream.close().await;
        assert!(stream.next().await.is_none());
        sequences
    };
    let sequences = beside(work, || {
        let peer = agent.greeted();
        peer.subscribe(0);
        peer.event(1, "token.refreshed", json!({}));
        peer.event(2, "token.refreshed", json!({}));
        peer.hang_up();
        let peer = agent.greeted();
        assert_eq!(peer.subscribe(3)["since"], json!({"epoch": "epoch-1", "sequence": 2}));
        peer.event(2, "token.refreshed", json!({}));
        peer.event(3, "token.refreshed", json!({}));
        peer.answer(&peer.request("event.unsubscribe"), json!({}));
    });
    assert_eq!(sequences, [1, 2, 3]);
}

#[test]
fn dropping_a_stream_unsubscribes() {
    let agent = Agent::new();
    let client = client(&agent);
    let work = async {
        drop(client.events(EventSubscribeParams::new()).await.unwrap());
        client.call("account.list", &Value::Null).await.unwrap()
    };
    beside(work, || {
        let peer = agent.greeted();
        peer.subscribe(0);
        peer.answer(&peer.request("event.unsubscribe"), json!({}));
        peer.answer(&peer.request("account.list"), json!({}));
    });
}

#[tokio::test]
async fn a_401_is_reported_and_the_request_sent_once_more() {
    let path = Agent::new().serve(|_, _| token());
    let client = AsyncClient::builder().socket(path).build();
    let account = Authorized::new(&client, "work", ["https://api.example"]).unwrap();
    let mut statuses = [401, 200].into_iter();
    let status = account
        .send("GET", "https://api.example/me", |credentials| {
            let status = statuses.next().unwrap();
            async move {
                assert_eq!(credentials.authorization(), "Bearer not-a-real-access-token");
                Ok::<_, ()>(Reply::new(status, |_| None, status))
            }
        })
        .await;
    assert_eq!(status, Ok(200));
}

#[test]
fn a_subscription_that_comes_too_late_is_ended() {
    let agent = Agent::new();
    let client = client(&agent);
    beside(
        async {
            let wanted = client.events(EventSubscribeParams::new());
            assert!(tokio::time::timeout(Duration::from_millis(100), wanted).await.is_err());
            assert_eq!(client.call("agent.status", &json!({})).await.unwrap(), json!({}));
        },
        || {
            let peer = agent.greeted();
            let subscribing = peer.request("event.subscribe");
            assert_eq!(peer.next().unwrap()["method"], "$/cancel");
            peer.answer(&subscribing, json!({"subscription": "late", "epoch": "e", "sequence": 0, "gap": false}));
            let mut methods = vec![peer.next().unwrap(), peer.next().unwrap()];
            methods.sort_by_key(|request| request["method"].as_str().unwrap().to_owned());
            assert_eq!(methods[1]["params"], json!({"subscription": "late"}));
            for request in methods {
                peer.answer(&request, json!({}));
            }
        },
    );
}
