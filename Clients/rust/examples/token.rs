//! Prints when the token of an account expires: `cargo run --example token work`.

fn main() -> Result<(), lanyard::Error> {
    let account = std::env::args().nth(1).unwrap_or_else(|| "@active".into());
    let token = lanyard::Client::new().token().get(account)?;
    println!("{} until {}", token.account, token.expires_at);
    Ok(())
}
