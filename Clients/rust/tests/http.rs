//! The HTTP helper: which headers leave, and how often.

mod support;

use lanyard::{Authorized, Client, ErrorKind, Reply, SendError};
use serde_json::{json, Value};
use support::{token, Agent};

const URL: &str = "https://api.example/me";

/// A client of an agent whose second token is `not-a-real-second`; `kind` is the tokens' type.
fn client(kind: &'static str) -> Client {
    let path = Agent::new().serve(move |method, params| {
        let mut token = token();
        token["tokenType"] = kind.into();
        match method {
            "token.reject" => {
                assert_eq!(params["fingerprint"], "k3Jt0Qe1");
                token["accessToken"] = "not-a-real-second".into();
                token
            }
            "token.proof" => {
                let proof = format!("proof-of-{}", params["nonce"].as_str().unwrap_or("none"));
                json!({"proof": proof, "thumbprint": "t", "account": token["account"]})
            }
            _ => token,
        }
    });
    Client::builder().socket(path).build()
}

/// Sends a request; the server answers with these statuses and headers. Returns the last status and all headers sent.
fn sent(client: &Client, url: &str, replies: &[(u16, &[(&str, &str)])]) -> (u16, Vec<Vec<String>>) {
    let account = Authorized::new(client, "work", ["https://api.example"]).unwrap();
    let mut seen = Vec::new();
    let mut replies = replies.iter();
    let status = account.send("GET", url, |credentials| -> Result<_, std::convert::Infallible> {
        seen.push(credentials.headers().map(|(name, value)| format!("{name}: {value}")).collect());
        let (status, headers) = replies.next().expect("no further request");
        let header = |name: &str| headers.iter().find(|(other, _)| *other == name).map(|(_, value)| value.to_string());
        Ok(Reply::new(*status, header, *status))
    });
    (status.unwrap(), seen)
}

#[test]
fn a_401_is_reported_and_the_request_sent_once_more() {
    let client = client("Bearer");
    let (status, seen) = sent(&client, URL, &[(401, &[]), (200, &[])]);
    assert_eq!(status, 200);
    let headers = ["Authorization: Bearer not-a-real-access-token", "Authorization: Bearer not-a-real-second"];
    assert_eq!(seen, headers.map(|header| vec![header.to_owned()]));
    assert_eq!(sent(&client, URL, &[(401, &[]), (401, &[])]).0, 401);
    assert_eq!(sent(&client, URL, &[(302, &[])]).0, 302);
}

#[test]
fn a_bound_token_goes_with_a_proof_and_the_nonce_of_the_server() {
    let challenge = ("www-authenticate", r#"DPoP error="use_dpop_nonce""#);
    let refusal: &[(&str, &str)] = &[challenge, ("dpop-nonce", "n1")];
    let (status, seen) = sent(&client("DPoP"), URL, &[(401, refusal), (200, &[])]);
    assert_eq!(status, 200);
    let authorization = "Authorization: DPoP not-a-real-access-token".to_owned();
    assert_eq!(seen[0], [authorization.clone(), "DPoP: proof-of-none".into()]);
    assert_eq!(seen[1], [authorization, "DPoP: proof-of-n1".into()]);
    // The first demand for a nonce is not the 401 that replaces the token.
    let (status, seen) = sent(&client("DPoP"), URL, &[(401, refusal), (401, &[]), (200, &[])]);
    assert_eq!((status, seen[2][0].as_str()), (200, "Authorization: DPoP not-a-real-second"));
    assert_eq!(sent(&client("DPoP"), URL, &[(401, refusal), (401, refusal), (401, refusal)]).0, 401);
}

#[test]
fn another_origin_gets_nothing() {
    let client = Client::builder().socket("/nonexistent/agent.sock").build();
    let account = Authorized::new(&client, "work", ["https://api.example"]).unwrap();
    for url in ["https://b.example/", "http://api.example/", "https://user@api.example/", "https://api.example:444/"] {
        let result = account.send("GET", url, |_| -> Result<Reply<()>, ()> { panic!("a request was sent") });
        assert!(matches!(result, Err(SendError::Lanyard(error)) if error.kind() == ErrorKind::OriginRefused), "{url}");
    }
    assert!(Authorized::new(&client, "work", ["http://api.example"]).is_err());
}

#[test]
fn a_body_that_cannot_be_sent_again_is_sent_once() {
    let client = client("Bearer");
    let account = Authorized::new(&client, "work", ["https://api.example"]).unwrap();
    let mut count = 0;
    let status = account.send("POST", URL, |_| -> Result<_, ()> {
        count += 1;
        Ok(Reply::new(401, |_| None, 401).last())
    });
    assert_eq!((status, count), (Ok(401), 1));
    let _: Value = client.call("token.get", &Value::Null).unwrap();
}
