use std::fmt;

use serde_json::Value;
use zeroize::Zeroizing;

/// A JSON text is not what its type expects. It tells the place and what is wrong there, never a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    path: String,
    what: &'static str,
}

impl Malformed {
    #[doc(hidden)]
    pub fn new(what: &'static str) -> Self {
        Malformed { path: String::new(), what }
    }

    /// The same error, seen from the value that holds the member `name`.
    #[doc(hidden)]
    #[must_use]
    pub fn under(mut self, name: &str) -> Self {
        self.path.insert_str(0, name);
        self.path.insert(0, '/');
        self
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "/" } else { &self.path };
        write!(formatter, "{path}: {}", self.what)
    }
}

impl std::error::Error for Malformed {}

/// Deeper values are refused. `serde_json`, which reads unknown members, has the same limit.
const MAXIMUM_DEPTH: u32 = 120;

const NOT_JSON: &str = "not JSON";

/// Reads one JSON text from its begin to its end (RFC 8259).
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Reader { text, at: 0, depth: 0 }
    }

    /// Checks that nothing follows.
    pub(crate) fn end(&mut self) -> Result<(), Malformed> {
        self.space();
        if self.at == self.text.len() {
            Ok(())
        } else {
            Err(Malformed::new(NOT_JSON))
        }
    }

    /// Skips the value that stands next, and returns its text.
    pub(crate) fn skip(&mut self) -> Result<&'a str, Malformed> {
        let first = self.peek();
        let begin = self.at;
        match first {
            Some(b'{') => self.object(&mut |reader, _| reader.skip().map(|_| ()))?,
            Some(b'[') => self.array(&mut |reader| reader.skip().map(|_| ()))?,
            Some(b'"') => {
                self.string_span()?;
            }
            Some(b't') => self.word("true")?,
            Some(b'f') => self.word("false")?,
            Some(b'n') => self.word("null")?,
            _ => {
                self.number()?;
            }
        }
        Ok(&self.text[begin..self.at])
    }

    /// Takes a `null`, if that stands next.
    pub(crate) fn null(&mut self) -> Result<bool, Malformed> {
        if self.peek() != Some(b'n') {
            return Ok(false);
        }
        self.word("null").map(|()| true)
    }

    pub(crate) fn value(&mut self) -> Result<Value, Malformed> {
        serde_json::from_str(self.skip()?).map_err(|_| Malformed::new("a number out of range"))
    }

    pub(crate) fn boolean(&mut self) -> Result<bool, Malformed> {
        match self.skip()? {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Malformed::new("not true or false")),
        }
    }

    pub(crate) fn integer<T: std::str::FromStr>(&mut self) -> Result<T, Malformed> {
        self.skip()?.parse().map_err(|_| Malformed::new("not an integer in its range"))
    }

    pub(crate) fn string(&mut self) -> Result<Zeroizing<String>, Malformed> {
        if self.peek() != Some(b'"') {
            self.skip()?;
            return Err(Malformed::new("not a string"));
        }
        let span = self.string_span()?;
        unescaped(span)
    }

    /// Reads an object: `member` gets each name, and reads the member's value.
    #[doc(hidden)]
    pub fn object(
        &mut self,
        member: &mut dyn FnMut(&mut Self, &str) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        if self.peek() != Some(b'{') {
            self.skip()?;
            return Err(Malformed::new("not an object"));
        }
        self.enter()?;
        if self.peek() != Some(b'}') {
            loop {
                if self.peek() != Some(b'"') {
                    return Err(Malformed::new(NOT_JSON));
                }
                let span = self.string_span()?;
                self.expect(b':')?;
                if span.contains('\\') {
                    member(self, &unescaped(span)?)?;
                } else {
                    member(self, span)?;
                }
                match self.peek() {
                    Some(b',') => self.at += 1,
                    _ => break,
                }
            }
        }
        self.leave(b'}')
    }

    pub(crate) fn array(
        &mut self,
        element: &mut dyn FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        if self.peek() != Some(b'[') {
            self.skip()?;
            return Err(Malformed::new("not an array"));
        }
        self.enter()?;
        if self.peek() != Some(b']') {
            loop {
                element(self)?;
                match self.peek() {
                    Some(b',') => self.at += 1,
                    _ => break,
                }
            }
        }
        self.leave(b']')
    }

    fn enter(&mut self) -> Result<(), Malformed> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAXIMUM_DEPTH {
            return Err(Malformed::new("nested too deeply"));
        }
        Ok(())
    }

    fn leave(&mut self, close: u8) -> Result<(), Malformed> {
        self.depth -= 1;
        self.expect(close)
    }

    fn space(&mut self) {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    pub(crate) fn next_is(&mut self, byte: u8) -> bool {
        self.peek() == Some(byte)
    }

    /// The first byte of what stands next.
    fn peek(&mut self) -> Option<u8> {
        self.space();
        self.text.as_bytes().get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.peek() != Some(byte) {
            return Err(Malformed::new(NOT_JSON));
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<(), Malformed> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(Malformed::new(NOT_JSON));
        }
        self.at += word.len();
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        let bytes = &self.text.as_bytes()[self.at..];
        let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(Malformed::new(NOT_JSON));
        }
        self.at += count;
        Ok(())
    }

    fn number(&mut self) -> Result<(), Malformed> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        if bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Skips a string. Returns the text between its quotes, with its escapes.
    fn string_span(&mut self) -> Result<&'a str, Malformed> {
        let bytes = self.text.as_bytes();
        let begin = self.at + 1;
        let mut at = begin;
        loop {
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    let (_, length) = escape(&bytes[at..]).ok_or_else(|| Malformed::new(NOT_JSON))?;
                    at += length;
                }
                Some(0..=0x1F) | None => return Err(Malformed::new(NOT_JSON)),
                Some(_) => at += 1,
            }
        }
        self.at = at + 1;
        Ok(&self.text[begin..at])
    }
}

fn unescaped(span: &str) -> Result<Zeroizing<String>, Malformed> {
    // An escape is never shorter than its character, so that the text does not move as it grows.
    let mut text = Zeroizing::new(String::with_capacity(span.len()));
    let mut rest = span;
    while let Some(at) = rest.find('\\') {
        let (character, length) = escape(&rest.as_bytes()[at..]).ok_or_else(|| Malformed::new(NOT_JSON))?;
        text.push_str(&rest[..at]);
        text.push(character);
        rest = &rest[at + length..];
    }
    text.push_str(rest);
    Ok(text)
}

/// The character of the escape at the begin of `bytes`, and the escape's length. A lone surrogate is none.
fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let character = match bytes.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = hexadecimal(bytes.get(2..6)?)?;
            if !(0xD800..0xDC00).contains(&first) {
                return Some((char::from_u32(first)?, 6));
            }
            if bytes.get(6..8)? != b"\\u" {
                return None;
            }
            let second = hexadecimal(bytes.get(8..12)?)?;
            if !(0xDC00..0xE000).contains(&second) {
                return None;
            }
            return Some((char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))?, 12));
        }
        _ => return None,
    };
    Some((character, 2))
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| Some(number * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::Secret;

    fn skipped(text: &str) -> Result<&str, Malformed> {
        let mut reader = Reader::new(text);
        let value = reader.skip()?;
        reader.end()?;
        Ok(value)
    }

    #[test]
    fn json_is_accepted() {
        for text in [
            "0",
            "-0.5e+10",
            "1E9",
            "[]",
            "{}",
            " [1, {\"a\" : null}] ",
            "\"\\u00e9\\uD83D\\uDE00\\n\"",
            "\"é😀\"",
            "true",
        ] {
            assert_eq!(skipped(text), Ok(text.trim()), "{text}");
            assert!(serde_json::from_str::<Value>(text).is_ok());
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        for text in [
            "",
            "01",
            "+1",
            "1.",
            ".5",
            "1e",
            "-",
            "nul",
            "truex",
            "[1,]",
            "[1",
            "{\"a\"}",
            "{\"a\":1,}",
            "{a:1}",
            "\"\n\"",
            "\"\\x\"",
            "\"\\uD83D\"",
            "\"\\uDE00\"",
            "\"\\uD83D\\u0041\"",
            "\"",
            "[]]",
            "NaN",
            "'a'",
            "\u{feff}1",
            &deep,
        ] {
            assert!(skipped(text).is_err(), "{text}");
        }
    }

    #[test]
    fn strings_are_unescaped() {
        let read = |text| Secret::from_json(text).unwrap().reveal().to_owned();
        assert_eq!(read(r#""a\"\\\/\b\f\n\r\tz""#), "a\"\\/\u{8}\u{c}\n\r\tz");
        assert_eq!(read(r#""\u00e9\ud83d\ude00é""#), "é😀é");
    }

    #[test]
    fn integers_are_exact() {
        assert_eq!(i64::from_json("9007199254740991"), Ok(9_007_199_254_740_991));
        assert_eq!(i64::from_json("-9007199254740991"), Ok(-9_007_199_254_740_991));
        for text in ["1.0", "1e3", "-1", "99999999999999999999", "\"1\"", "true"] {
            assert!(u64::from_json(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_names_the_place_and_no_value() {
        let error = Vec::<Vec<String>>::from_json(r#"[["a"], ["b", 12345]]"#).unwrap_err();
        assert_eq!(error.to_string(), "/1/1: not a string");
    }
}
