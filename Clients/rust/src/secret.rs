use std::fmt;

use zeroize::Zeroizing;

/// A secret text, such as an access token. Its memory is wiped when it is dropped.
///
/// It has no `Display`, and its `Debug` shows no part of the text, so that it can't reach a log by accident.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// The text. A copy of it is the caller's to wipe.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Secret(Zeroizing::new(text))
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Secret(Zeroizing::new(text.to_owned()))
    }
}

impl From<Zeroizing<String>> for Secret {
    fn from(text: Zeroizing<String>) -> Self {
        Secret(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(..)")
    }
}

/// Compares every byte, so that the time tells nothing but the length.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        let (left, right) = (self.0.as_bytes(), other.0.as_bytes());
        left.len() == right.len() && left.iter().zip(right).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
    }
}

impl Eq for Secret {}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn debug_shows_no_part_of_the_text() {
        assert_eq!(format!("{:?}", Secret::from("not-a-real-token")), "Secret(..)");
        assert_eq!(format!("{:#?}", Some(Secret::from("not-a-real-token"))), "Some(\n    Secret(..),\n)");
    }

    #[test]
    fn secrets_compare_by_their_text() {
        assert_eq!(Secret::from("a"), Secret::from(String::from("a")));
        assert_ne!(Secret::from("a"), Secret::from("b"));
        assert_ne!(Secret::from("a"), Secret::from("aa"));
    }
}
