//! The token in requests of any HTTP library: which URLs may have it, and what to do on a 401.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::{Client, Error, ErrorKind, Result, Secret, Token, TokenGetParams, TokenProofParams, TokenRejectParams};

/// An account's token for requests to some origins, and to no other ones.
///
/// The HTTP library is the program's own. [`send`](Authorized::send) gets a closure that sends the request with the
/// headers of a [`Credentials`], and returns a [`Reply`]. It calls it once more if the server answers 401: then the
/// token was reported, and another one is sent. A second 401 is returned as it is.
///
/// **The closure must not let the library follow redirects**, which would carry the token to another origin. A program
/// that wants to follow one calls `send` again with the new URL: another origin is refused.
///
/// ```no_run
/// use lanyard::{Authorized, Client, Reply};
///
/// let client = Client::new();
/// let work = Authorized::new(&client, "work", ["https://api.example"])?;
/// let url = "https://api.example/workorders/17";
/// let body = work.send("GET", url, |credentials| -> Result<_, std::io::Error> {
///     let (status, headers, body) = my_http::get(url, credentials.headers())?;
///     Ok(Reply::new(status, |name| headers.get(name).cloned(), body))
/// })?;
/// # mod my_http {
/// #     use std::{collections::HashMap, io::Result};
/// #     type Answer = (u16, HashMap<String, String>, String);
/// #     pub fn get<'a>(_: &str, _: impl Iterator<Item = (&'static str, &'a str)>) -> Result<Answer> { unimplemented!() }
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Authorized<C = Client> {
    pub(crate) client: C,
    pub(crate) rules: Rules,
}

/// What the requests are authorized with, and where they may go.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    wanted: TokenGetParams,
    origins: Vec<Origin>,
}

impl<C: Clone> Authorized<C> {
    /// The requests of an account to `origins`, such as `https://api.example`.
    ///
    /// # Errors
    /// [`ErrorKind::OriginRefused`] if one is no origin, or is neither `https` nor a loopback address.
    pub fn new<O: AsRef<str>>(
        client: &C,
        account: impl Into<TokenGetParams>,
        origins: impl IntoIterator<Item = O>,
    ) -> Result<Self> {
        let parsed: Result<Vec<_>> = origins.into_iter().map(|origin| Origin::parse(origin.as_ref())).collect();
        Ok(Authorized { client: client.clone(), rules: Rules { wanted: account.into(), origins: parsed? } })
    }
}

impl Authorized<Client> {
    /// Sends a request, at most twice (three times if the server asks for a nonce of its own).
    ///
    /// `request` sends it with the headers of the credentials. If its body can't be sent again, it returns
    /// [`Reply::last`].
    ///
    /// # Errors
    /// [`SendError::Lanyard`] for the agent's errors, and with [`ErrorKind::OriginRefused`] before anything is sent if the
    /// URL is not covered; [`SendError::Http`] with the error of the closure.
    pub fn send<R, E>(
        &self,
        method: &str,
        url: &str,
        mut request: impl FnMut(&Credentials) -> std::result::Result<Reply<R>, E>,
    ) -> std::result::Result<R, SendError<E>> {
        let mut exchange = Exchange::new(&self.rules, method, url)?;
        let tokens = self.client.token();
        let mut token = tokens.get(self.rules.wanted())?;
        loop {
            let proof = match exchange.proof(&token) {
                Some(params) => Some(tokens.proof(params)?.proof),
                None => None,
            };
            let reply = request(&Credentials::new(&token, proof)).map_err(SendError::Http)?;
            match exchange.after(&reply, &token) {
                Next::Done => return Ok(reply.into_response()),
                Next::Again => {}
                Next::Reject(params) if reply.is_last() => {
                    // The server's answer says more than an error of the report would.
                    let _ = tokens.reject(params);
                    return Ok(reply.into_response());
                }
                Next::Reject(params) => token = tokens.reject(params)?,
            }
        }
    }
}

/// The headers that authorize one request.
pub struct Credentials {
    authorization: Secret,
    proof: Option<Secret>,
}

impl Credentials {
    pub(crate) fn new(token: &Token, proof: Option<Secret>) -> Self {
        let scheme = if proof.is_some() { "DPoP" } else { token.token_type.as_str() };
        let access_token = token.access_token.reveal();
        let mut text = zeroize::Zeroizing::new(String::with_capacity(scheme.len() + 1 + access_token.len()));
        text.push_str(scheme);
        text.push(' ');
        text.push_str(access_token);
        Credentials { authorization: Secret::from(text), proof }
    }

    /// The value of `Authorization`.
    pub fn authorization(&self) -> &str {
        self.authorization.reveal()
    }

    /// The value of `DPoP` for a token that is bound to a key (RFC 9449).
    pub fn proof(&self) -> Option<&str> {
        self.proof.as_ref().map(Secret::reveal)
    }

    /// The names and values of all headers.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let proof = self.proof().map(|proof| ("DPoP", proof));
        std::iter::once(("Authorization", self.authorization())).chain(proof)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Credentials(..)")
    }
}

/// A response, and what [`Authorized::send`] must know of it.
#[derive(Clone, Debug)]
pub struct Reply<R> {
    status: u16,
    challenge: Option<String>,
    nonce: Option<String>,
    is_last: bool,
    response: R,
}

impl<R> Reply<R> {
    /// `header` returns the value of a response header by its name in lower case; of several, all joined by `, `.
    pub fn new(status: u16, header: impl Fn(&str) -> Option<String>, response: R) -> Self {
        let (challenge, nonce) = (header("www-authenticate"), header("dpop-nonce"));
        Reply { status, challenge, nonce, is_last: false, response }
    }

    /// The request can't be sent again: its body was a stream. A 401 is reported and returned.
    #[must_use]
    pub fn last(mut self) -> Self {
        self.is_last = true;
        self
    }

    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }

    pub(crate) fn into_response(self) -> R {
        self.response
    }
}

/// Why a request was not answered.
#[derive(Clone, Debug, PartialEq)]
pub enum SendError<E> {
    /// There is no token, or the URL may not have it.
    Lanyard(Error),
    /// The closure's error.
    Http(E),
}

impl<E> From<Error> for SendError<E> {
    fn from(error: Error) -> Self {
        SendError::Lanyard(error)
    }
}

impl<E: fmt::Display> fmt::Display for SendError<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Lanyard(error) => error.fmt(formatter),
            SendError::Http(error) => error.fmt(formatter),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for SendError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SendError::Lanyard(error) => Some(error),
            SendError::Http(error) => Some(error),
        }
    }
}

/// One request and its repetitions.
pub(crate) struct Exchange<'a> {
    rules: &'a Rules,
    method: &'a str,
    url: &'a str,
    nonce: Option<String>,
    is_rejected: bool,
    is_nonce_asked: bool,
}

pub(crate) enum Next {
    /// The reply is the answer.
    Done,
    /// With a new proof.
    Again,
    /// With the token that `token.reject` returns.
    Reject(TokenRejectParams),
}

impl Rules {
    pub fn wanted(&self) -> TokenGetParams {
        self.wanted.clone()
    }
}

impl<'a> Exchange<'a> {
    pub fn new(rules: &'a Rules, method: &'a str, url: &'a str) -> Result<Self> {
        let origin = Origin::parse(url)?;
        if !rules.origins.contains(&origin) {
            return Err(refused("the URL is not of an origin that may have the token"));
        }
        Ok(Exchange { rules, method, url, nonce: None, is_rejected: false, is_nonce_asked: false })
    }

    /// The params of the proof that the token needs; `None` for a bearer token.
    pub fn proof(&self, token: &Token) -> Option<TokenProofParams> {
        if !token.token_type.eq_ignore_ascii_case("DPoP") {
            return None;
        }
        // The proof is not for the fragment, which is never sent.
        let url = self.url.split('#').next().unwrap_or_default();
        let params = TokenProofParams::new(self.rules.wanted.account.as_str(), self.method, url);
        let params = params.fingerprint(token.fingerprint.as_str());
        Some(match &self.nonce {
            Some(nonce) => params.nonce(nonce.as_str()),
            None => params,
        })
    }

    pub fn after<R>(&mut self, reply: &Reply<R>, token: &Token) -> Next {
        if reply.status != 401 {
            return Next::Done;
        }
        if let Some(nonce) = &reply.nonce {
            self.nonce = Some(nonce.clone());
            let asks = reply.challenge.as_deref().map_or(false, |challenge| challenge.contains("use_dpop_nonce"));
            if asks && self.proof(token).is_some() {
                // The server refuses the proof for its nonce alone: the token is not at fault.
                if self.is_nonce_asked || reply.is_last {
                    return Next::Done;
                }
                self.is_nonce_asked = true;
                return Next::Again;
            }
        }
        if self.is_rejected {
            return Next::Done;
        }
        self.is_rejected = true;
        let params = TokenRejectParams::new(self.rules.wanted.account.as_str(), token.fingerprint.as_str());
        Next::Reject(match &reply.challenge {
            // The contract's limit for a challenge.
            Some(challenge) if (1..=4096).contains(&challenge.chars().count()) => params.challenge(challenge.as_str()),
            _ => params,
        })
    }
}

/// Scheme, host and port of a URL (RFC 6454, section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    is_https: bool,
    host: String,
    port: u16,
}

impl Origin {
    /// Parses strictly: a text that an HTTP library might read as another host is refused.
    fn parse(url: &str) -> Result<Self> {
        let no_origin = || refused("not a URL of the kind https://host, or http://host of this machine");
        let (scheme, rest) = url.split_once("://").ok_or_else(no_origin)?;
        let is_https = scheme.eq_ignore_ascii_case("https");
        if !is_https && !scheme.eq_ignore_ascii_case("http") {
            return Err(no_origin());
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(byte);
        if !authority.as_bytes().iter().all(is_plain) || url.bytes().any(|byte| byte <= b' ' || byte == b'\\') {
            return Err(no_origin());
        }
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, rest)) => {
                let host: Ipv6Addr = host.parse().map_err(|_| no_origin())?;
                (host.to_string(), rest)
            }
            None => {
                let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
                (host.to_ascii_lowercase(), port)
            }
        };
        let port = match (port.strip_prefix(':'), port) {
            (Some(digits), _) if digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty() => {
                digits.parse().map_err(|_| no_origin())?
            }
            (None, "") => {
                if is_https {
                    443
                } else {
                    80
                }
            }
            _ => return Err(no_origin()),
        };
        if host.is_empty() || host.contains(['[', ']']) {
            return Err(no_origin());
        }
        let origin = Origin { is_https, host, port };
        if !origin.is_https && !origin.is_loopback() {
            return Err(refused("a token goes over plain HTTP to this machine only"));
        }
        Ok(origin)
    }

    fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self.host.parse::<Ipv4Addr>().map_or(false, |address| address.is_loopback())
            || self.host.parse::<Ipv6Addr>().map_or(false, |address| address.is_loopback())
    }
}

fn refused(message: &str) -> Error {
    Error::new(ErrorKind::OriginRefused, message)
}

#[cfg(test)]
mod tests {
    use super::Origin;

    #[test]
    fn spellings_of_one_origin_are_equal() {
        let origin = Origin::parse("https://api.example").unwrap();
        for url in ["https://api.example/a?b#c", "HTTPS://API.Example:443", "https://api.example?x=https://b.example"] {
            assert_eq!(Origin::parse(url).unwrap(), origin, "{url}");
        }
        for url in
            ["https://api.example:444", "https://api.example.", "https://b.example", "https://api.example.b.example"]
        {
            assert_ne!(Origin::parse(url).unwrap(), origin, "{url}");
        }
    }

    #[test]
    fn plain_http_is_for_loopback_addresses() {
        for url in ["http://127.0.0.1:8080/", "http://127.1.2.3", "http://localhost", "http://[::1]:80/x"] {
            assert!(Origin::parse(url).is_ok(), "{url}");
        }
        for url in [
            "http://api.example",
            "http://localhost.example",
            "http://127.0.0.1.example",
            "http://[::2]",
            "http://0.0.0.0",
        ] {
            assert!(Origin::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn what_libraries_may_read_in_two_ways_is_refused() {
        for url in [
            "https://",
            "https:/api.example",
            "api.example",
            "https://user@api.example",
            "https://api.example\\@b.example",
            "https://api.example:",
            "https://api.example:+1",
            "https://api.example:99999",
            "https://a b",
            "https://[::1",
            "https://[x]",
            "file:///etc/hostname",
            "https://api%2eexample",
            "https://bücher.example",
            "https://a:1:2",
        ] {
            assert!(Origin::parse(url).is_err(), "{url}");
        }
    }
}
