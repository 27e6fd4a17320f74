//! The blocking client against a scripted agent.

mod support;

use std::thread;
use std::time::{Duration, Instant};

use lanyard::{
    Cancellation, Client, ErrorCode, ErrorKind, EventData, EventSubscribeParams, EventType, Json, Token, TokenGetParams,
};
use serde_json::{json, Value};
use support::{token, Agent, PATIENCE};

/// Runs `work` in a thread of its own while the test plays the agent.
fn beside<T: Send>(work: impl FnOnce() -> T + Send, play: impl FnOnce()) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(work);
        play();
        thread.join().unwrap()
    })
}

#[test]
fn the_client_is_for_many_threads() {
    fn is_shared<T: Send + Sync + Clone + 'static>() {}
    fn is_sent<T: Send + Sync + 'static>() {}
    is_shared::<Client>();
    is_shared::<Cancellation>();
    is_sent::<lanyard::EventStream>();
    is_sent::<lanyard::Error>();
}

#[test]
fn a_token_prints_without_its_secret() {
    let agent = Agent::new();
    let client = agent.client();
    let got = beside(
        || client.token().get(TokenGetParams::new("work").minimum_lifetime_seconds(60)).unwrap(),
        || {
            let peer = agent.greeted();
            let request = peer.request("token.get");
            assert_eq!(request["params"], json!({"account": "work", "minimumLifetimeSeconds": 60}));
            let mut later = token();
            later["idToken"] = "not-a-real-later".into();
            peer.answer(&request, later);
        },
    );
    assert_eq!(got.access_token.reveal(), "not-a-real-access-token");
    assert_eq!(got.extra["idToken"], "not-a-real-later");
    let shown = format!("{got:?}{got:#?}{client:?}");
    assert!(!shown.contains("not-a-real") && shown.contains("k3Jt0Qe1"), "{shown}");
}

#[test]
fn one_connection_serves_many_threads() {
    let path = Agent::new().serve(|_, params| json!({"for": params["account"]}));
    let client = Client::builder().socket(path).build();
    thread::scope(|scope| {
        for caller in 0..16 {
            let client = &client;
            scope.spawn(move || {
                for call in 0..200 {
                    let name = format!("{caller}-{call}");
                    let result = client.call("token.get", &json!({ "account": name })).unwrap();
                    assert_eq!(result, json!({ "for": name }));
                }
            });
        }
    });
}

#[test]
fn a_timeout_ends_the_call_and_cancels_the_request() {
    let agent = Agent::new();
    let client = agent.client();
    let began = Instant::now();
    let error = beside(
        || client.within(Duration::from_millis(200)).token().get("work").unwrap_err(),
        || {
            let peer = agent.greeted();
            let request = peer.request("token.get");
            assert_eq!(peer.request("$/cancel")["params"], json!({"id": request["id"]}));
        },
    );
    assert_eq!((error.kind(), error.retryable()), (ErrorKind::CallTimeout, true));
    assert!(began.elapsed() >= Duration::from_millis(190));
}

#[test]
fn cancellation_ends_the_call_of_a_leader_and_of_a_follower() {
    let agent = Agent::new();
    let client = agent.client();
    let cancellations = [Cancellation::new(), Cancellation::new()];
    thread::scope(|scope| {
        let calls: Vec<_> = cancellations
            .iter()
            .map(|cancellation| {
                let client = client.cancelled_by(cancellation);
                scope.spawn(move || client.token().get("work").unwrap_err().kind())
            })
            .collect();
        let peer = agent.greeted();
        peer.request("token.get");
        peer.request("token.get");
        for cancellation in &cancellations {
            cancellation.cancel();
            peer.request("$/cancel");
        }
        for call in calls {
            assert_eq!(call.join().unwrap(), ErrorKind::Cancelled);
        }
    });
    assert_eq!(client.cancelled_by(&cancellations[0]).token().get("work").unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn the_end_of_the_agent_fails_calls_in_flight_and_the_next_call_connects() {
    let agent = Agent::new();
    let client = agent.client();
    let error = beside(
        || client.call("token.get", &Value::Null).unwrap_err(),
        || {
            let peer = agent.greeted();
            peer.request("token.get");
            peer.hang_up();
        },
    );
    assert_eq!((error.kind(), error.retryable()), (ErrorKind::ConnectionLost, true));
    let result = beside(
        || client.call("token.get", &Value::Null).unwrap(),
        || {
            let peer = agent.greeted();
            peer.answer(&peer.request("token.get"), json!({"again": true}));
        },
    );
    assert_eq!(result, json!({"again": true}));
}

#[test]
fn an_error_has_what_the_agent_told() {
    let agent = Agent::new();
    let client = agent.client();
    let error = beside(
        || client.token().get("retired").unwrap_err(),
        || {
            let peer = agent.greeted();
            let data = json!({"name": "reauthenticationRequired", "retryable": false, "account": "acc_retired",
                "reason": "outcomeUnknown", "remedies": ["reauthenticate"], "retryAfterMs": 1500, "later": "x"});
            peer.fail(&peer.request("token.get"), 2004, data);
        },
    );
    assert_eq!(error.kind(), ErrorKind::Agent(ErrorCode::ReauthenticationRequired));
    assert_eq!((error.code(), error.name()), (Some(2004), "reauthenticationRequired"));
    assert_eq!((error.account(), error.reason()), (Some("acc_retired"), Some("outcomeUnknown")));
    assert_eq!((error.remedies(), error.retry_after()), (vec!["reauthenticate"], Some(Duration::from_millis(1500))));
    assert_eq!(error.to_string(), "a message for a person [reauthenticationRequired (2004)]");
    assert!(!format!("{error:?}").contains("acc_retired"));
}

#[test]
fn a_closed_client_fails_its_calls() {
    let agent = Agent::new();
    let client = agent.client();
    let kind = thread::scope(|scope| {
        let call = scope.spawn(|| client.token().get("work").unwrap_err().kind());
        let peer = agent.greeted();
        peer.request("token.get");
        client.close();
        call.join().unwrap()
    });
    assert_eq!(kind, ErrorKind::ClientClosed);
    assert_eq!(client.clone().token().get("work").unwrap_err().kind(), ErrorKind::ClientClosed);
}

#[test]
fn dropping_the_last_clone_closes_the_connection() {
    let agent = Agent::new();
    let client = agent.client();
    let peer = thread::scope(|scope| {
        let connecting = scope.spawn(|| client.connect().unwrap());
        let peer = agent.greeted();
        connecting.join().unwrap();
        peer
    });
    drop(client.clone());
    peer.silent();
    drop(client);
    assert_eq!(peer.next(), None);
}

#[test]
fn the_position_is_that_of_the_last_event_that_was_taken() {
    let agent = Agent::new();
    let client = agent.client();
    beside(
        || {
            let stream = client.events(EventSubscribeParams::new()).unwrap();
            assert_eq!(stream.position().unwrap().sequence, 4);
            for sequence in 5..8 {
                assert_eq!(stream.receive().unwrap().unwrap().sequence, sequence);
                assert_eq!(stream.position().unwrap().sequence, sequence);
            }
        },
        || {
            let peer = agent.greeted();
            peer.subscribe(4);
            for sequence in 5..8 {
                peer.event(sequence, "token.refreshed", json!({}));
            }
            peer.answer(&peer.request("event.unsubscribe"), json!({}));
        },
    );
}

#[test]
fn a_stream_resumes_and_skips_what_was_replayed() {
    let agent = Agent::new();
    let client = agent.client();
    let types = beside(
        || {
            let stream = client.events(EventSubscribeParams::new().types(["token.refreshed"])).unwrap();
            let sequences: Vec<_> = (&stream).take(3).map(|event| event.unwrap().sequence).collect();
            assert_eq!(stream.position().unwrap().sequence, 3);
            sequences
        },
        || {
            let peer = agent.greeted();
            assert_eq!(peer.subscribe(0), json!({"types": ["token.refreshed"]}));
            peer.event(1, "token.refreshed", json!({}));
            peer.event(2, "token.refreshed", json!({}));
            peer.hang_up();
            let peer = agent.greeted();
            assert_eq!(peer.subscribe(3)["since"], json!({"epoch": "epoch-1", "sequence": 2}));
            peer.event(2, "token.refreshed", json!({}));
            peer.event(3, "token.refreshed", json!({}));
            peer.answer(&peer.request("event.unsubscribe"), json!({}));
        },
    );
    assert_eq!(types, [1, 2, 3]);
}

#[test]
fn a_slow_consumer_gets_a_gap_for_what_was_dropped() {
    let agent = Agent::new();
    let client = agent.client();
    thread::scope(|scope| {
        let stream = scope.spawn(|| client.events(EventSubscribeParams::new()).unwrap());
        let peer = agent.greeted();
        peer.subscribe(0);
        let stream = stream.join().unwrap();
        scope.spawn(move || {
            for sequence in 1..=10_005 {
                peer.event(sequence, "token.refreshed", json!({}));
            }
            peer.answer(&peer.request("account.list"), json!({}));
            peer.answer(&peer.request("event.unsubscribe"), json!({}));
        });
        // The caller reads for all, also the events that nobody takes meanwhile.
        client.call("account.list", &Value::Null).unwrap();
        let first = stream.receive_timeout(PATIENCE).unwrap().unwrap();
        assert_eq!(first.type_, EventType::EventGap);
        assert!(matches!(first.typed().unwrap(), EventData::EventGap(gap) if gap.to == first.sequence));
        let rest: Vec<_> = (&stream).take(9_999).map(|event| event.unwrap().sequence).collect();
        assert_eq!((rest[0], rest[9_998]), (7, 10_005));
        assert!(stream.receive_timeout(Duration::from_millis(20)).unwrap().is_none());
    });
}

#[test]
fn closing_a_stream_ends_the_thread_that_waits() {
    let agent = Agent::new();
    let client = agent.client();
    let stream = thread::scope(|scope| {
        let stream = scope.spawn(|| client.events(EventSubscribeParams::new()).unwrap());
        let peer = agent.greeted();
        peer.subscribe(0);
        thread::spawn(move || peer.answer(&peer.request("event.unsubscribe"), json!({})));
        stream.join().unwrap()
    });
    thread::scope(|scope| {
        let waiting = scope.spawn(|| (&stream).count());
        thread::sleep(Duration::from_millis(50));
        stream.close();
        assert_eq!(waiting.join().unwrap(), 0);
    });
}

#[test]
fn events_have_typed_data() {
    let text = r#"{"subscription":"s","epoch":"e","sequence":1,"type":"account.renamed","at":"2030-01-01T00:00:00.000Z",
        "account":"acc_a","data":{"alias":"acme","previous":"work","later":1}}"#;
    let event = lanyard::Event::from_json(text).unwrap();
    match event.typed().unwrap() {
        EventData::AccountRenamed(data) => {
            assert_eq!((data.alias.as_str(), data.previous.as_deref()), ("acme", Some("work")));
            assert_eq!(data.extra["later"], 1);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_type_survives_a_round_trip() {
    let mut sent = token();
    sent["source"] = "ofLater".into();
    sent["later"] = json!({"deep": [null, 1.5]});
    let read = Token::from_json(&sent.to_string()).unwrap();
    assert_eq!(read.source, "ofLater");
    assert_eq!(serde_json::from_str::<Value>(&read.to_json()).unwrap(), sent);
    sent["scopes"] = json!(["a", 7]);
    assert_eq!(Token::from_json(&sent.to_string()).unwrap_err().to_string(), "/scopes/1: not a string");
}

#[test]
fn a_child_of_a_fork_does_not_disturb_its_parent() {
    let path = Agent::new().serve(|_, params| params.clone());
    let client = Client::builder().socket(path).build();
    client.connect().unwrap();
    // SAFETY: the child makes one call and exits, without returning into the test.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let error = client.token().get("work").unwrap_err();
        let status = i32::from(error.kind() != ErrorKind::ClientClosed);
        drop(client);
        // SAFETY: it does not return.
        unsafe { libc::_exit(status) };
    }
    let mut status = -1;
    // SAFETY: the place lives until the call returns.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
    assert_eq!(client.call("token.get", &json!({"a": 1})).unwrap(), json!({"a": 1}));
}
