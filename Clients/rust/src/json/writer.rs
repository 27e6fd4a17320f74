use serde_json::Value;
use zeroize::Zeroizing;

use super::{Extra, Json};
use crate::wiped::WipedBytes;

/// Writes JSON without spaces, into memory that is wiped.
#[derive(Default)]
pub struct Writer(WipedBytes);

impl Writer {
    pub(crate) fn into_text(self) -> Zeroizing<String> {
        // All that is written is UTF-8.
        Zeroizing::new(String::from_utf8_lossy(self.0.as_slice()).into_owned())
    }

    pub(crate) fn into_bytes(self) -> WipedBytes {
        self.0
    }

    pub(crate) fn raw(&mut self, text: &str) {
        self.0.extend(text.as_bytes());
    }

    pub(crate) fn string(&mut self, text: &str) {
        self.0.push(b'"');
        let bytes = text.as_bytes();
        let mut begin = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let control;
            let escape: &[u8] = match byte {
                b'"' => b"\\\"",
                b'\\' => b"\\\\",
                b'\n' => b"\\n",
                b'\r' => b"\\r",
                b'\t' => b"\\t",
                0..=0x1F => {
                    control =
                        [b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), b"0123456789abcdef"[usize::from(byte & 15)]];
                    &control
                }
                _ => continue,
            };
            self.0.extend(&bytes[begin..at]);
            self.0.extend(escape);
            begin = at + 1;
        }
        self.0.extend(&bytes[begin..]);
        self.0.push(b'"');
    }

    pub(crate) fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(elements) => elements.write(self),
            Value::Object(members) => members.write(self),
            other => self.raw(&other.to_string()),
        }
    }

    /// Begins an object. `end` ends it.
    #[doc(hidden)]
    pub fn object(&mut self) -> ObjectWriter<'_> {
        self.raw("{");
        ObjectWriter { writer: self, empty: true }
    }
}

/// Writes the members of one object.
pub struct ObjectWriter<'a> {
    writer: &'a mut Writer,
    empty: bool,
}

impl ObjectWriter<'_> {
    #[doc(hidden)]
    pub fn member<T: Json>(&mut self, name: &str, value: &T) {
        if !self.empty {
            self.writer.raw(",");
        }
        self.empty = false;
        self.writer.string(name);
        self.writer.raw(":");
        value.write(self.writer);
    }

    #[doc(hidden)]
    pub fn optional<T: Json>(&mut self, name: &str, value: &Option<T>) {
        if let Some(value) = value {
            self.member(name, value);
        }
    }

    #[doc(hidden)]
    pub fn extra(&mut self, extra: &Extra) {
        for (name, value) in extra.iter() {
            self.member(name, value);
        }
    }

    #[doc(hidden)]
    pub fn end(self) {
        self.writer.raw("}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_as_serde_json_reads_them() {
        let text: String = (0..0x250).filter_map(char::from_u32).chain("\"\\/😀\u{2028}".chars()).collect();
        let written = text.to_json();
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        assert_eq!(String::from_json(&written).unwrap(), text);
    }

    #[test]
    fn values_are_written_as_they_were() {
        let text = r#"{"a":[1,-2,0.5,true,null,"x"],"b":{"c":9007199254740991}}"#;
        assert_eq!(*Value::from_json(text).unwrap().to_json(), text);
    }
}
