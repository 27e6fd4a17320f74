//! As much HTTP as the cases need: one request on one connection, and no redirects.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;

use lanyard::{Credentials, Reply};
use serde_json::json;

/// The reply holds the result of the command.
pub fn fetch(method: &str, url: &str, body: &str, credentials: &Credentials) -> Result<Reply<String>> {
    let invalid = |what: &str| Error::new(ErrorKind::InvalidData, what.to_owned());
    let rest = url.strip_prefix("http://").ok_or_else(|| invalid("not http"))?;
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    for (name, value) in credentials.headers() {
        request += &format!("{name}: {value}\r\n");
    }
    request += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    let mut stream = TcpStream::connect(host)?;
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| invalid("no response"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(|| invalid("no status"))?;
    let header = |name: &str| {
        let values: Vec<_> = head
            .lines()
            .filter_map(|line| line.split_once(':'))
            .filter(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .collect();
        (!values.is_empty()).then(|| values.join(", "))
    };
    Ok(Reply::new(status, header, json!({"status": status, "body": body}).to_string()))
}
