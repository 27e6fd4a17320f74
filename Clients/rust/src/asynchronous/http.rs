use std::future::Future;

use super::client::AsyncClient;
use crate::http::{Exchange, Next};
use crate::{Authorized, Credentials, Reply, SendError};

impl Authorized<AsyncClient> {
    /// As [`Authorized::send`] of the blocking client.
    ///
    /// # Errors
    /// As there.
    pub async fn send<R, E, F>(
        &self,
        method: &str,
        url: &str,
        mut request: impl FnMut(Credentials) -> F,
    ) -> std::result::Result<R, SendError<E>>
    where
        F: Future<Output = std::result::Result<Reply<R>, E>>,
    {
        let mut exchange = Exchange::new(&self.rules, method, url)?;
        let tokens = self.client.token();
        let mut token = tokens.get(self.rules.wanted()).await?;
        loop {
            let proof = match exchange.proof(&token) {
                Some(params) => Some(tokens.proof(params).await?.proof),
                None => None,
            };
            let reply = request(Credentials::new(&token, proof)).await.map_err(SendError::Http)?;
            match exchange.after(&reply, &token) {
                Next::Done => return Ok(reply.into_response()),
                Next::Again => {}
                Next::Reject(params) if reply.is_last() => {
                    // The server's answer says more than an error of the report would.
                    let _ = tokens.reject(params).await;
                    return Ok(reply.into_response());
                }
                Next::Reject(params) => token = tokens.reject(params).await?,
            }
        }
    }
}
