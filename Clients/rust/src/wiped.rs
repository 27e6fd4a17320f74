//! Buffers of lines that may hold secrets. Whatever leaves a buffer is wiped first.

use std::io;

use zeroize::Zeroize;

/// Bytes that are wiped when they are dropped, and before they move to a larger place.
#[derive(Default)]
pub(crate) struct WipedBytes(Vec<u8>);

impl WipedBytes {
    pub fn with_capacity(capacity: usize) -> Self {
        WipedBytes(Vec::with_capacity(capacity))
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    pub fn extend(&mut self, bytes: &[u8]) {
        let needed = self.0.len() + bytes.len();
        if needed > self.0.capacity() {
            // `Vec` would leave its old place to the allocator as it is.
            let mut larger = Vec::with_capacity(needed.max(self.0.capacity() * 2));
            larger.extend_from_slice(&self.0);
            self.0.zeroize();
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
    }
}

impl Drop for WipedBytes {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl io::Write for WipedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Received bytes, which are taken line by line.
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    begin: usize,
    scanned: usize,
    end: usize,
}

const READ_BYTES: usize = 64 << 10;

/// An empty inbox that is larger than this goes back to `READ_BYTES`.
const KEPT_BYTES: usize = 1 << 20;

impl Inbox {
    pub fn new() -> Self {
        Inbox { bytes: vec![0; READ_BYTES], begin: 0, scanned: 0, end: 0 }
    }

    /// Room for received bytes: at least 32 KiB.
    pub fn room(&mut self) -> &mut [u8] {
        if self.begin == self.end {
            self.begin = 0;
            self.scanned = 0;
            self.end = 0;
            if self.bytes.len() > KEPT_BYTES {
                self.bytes = vec![0; READ_BYTES];
            }
        } else if self.bytes.len() - self.end < READ_BYTES / 2 {
            let held = self.end - self.begin;
            let capacity = if held > self.bytes.len() / 2 { self.bytes.len() * 2 } else { self.bytes.len() };
            let mut moved = vec![0; capacity];
            moved[..held].copy_from_slice(&self.bytes[self.begin..self.end]);
            self.bytes[self.begin..self.end].zeroize();
            self.scanned -= self.begin;
            self.begin = 0;
            self.end = held;
            self.bytes = moved;
        }
        &mut self.bytes[self.end..]
    }

    /// Adds the first `count` bytes of `room()`.
    pub fn filled(&mut self, count: usize) {
        self.end += count;
    }

    /// The next whole line, without its end. Its place in the inbox is wiped.
    pub fn line(&mut self) -> Option<WipedBytes> {
        match self.bytes[self.scanned..self.end].iter().position(|&byte| byte == b'\n') {
            None => {
                self.scanned = self.end;
                None
            }
            Some(length) => {
                let end = self.scanned + length;
                let mut line = WipedBytes::with_capacity(end - self.begin);
                line.extend(&self.bytes[self.begin..end]);
                self.bytes[self.begin..end].zeroize();
                self.begin = end + 1;
                self.scanned = self.begin;
                Some(line)
            }
        }
    }

    /// The number of bytes of a line that has not ended.
    pub fn pending(&self) -> usize {
        self.end - self.begin
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.bytes[self.begin..self.end].zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(inbox: &mut Inbox, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = inbox.room();
            let count = room.len().min(rest.len());
            room[..count].copy_from_slice(&rest[..count]);
            inbox.filled(count);
            rest = &rest[count..];
            while let Some(line) = inbox.line() {
                lines.push(line.as_slice().to_vec());
            }
        }
        lines
    }

    #[test]
    fn lines_are_found_at_every_split() {
        let text = b"{\"a\":1}\n\n{\"b\":2}\r\n{";
        for size in 1..text.len() {
            let mut inbox = Inbox::new();
            let lines: Vec<_> = text.chunks(size).flat_map(|chunk| feed(&mut inbox, chunk)).collect();
            assert_eq!(lines, [&b"{\"a\":1}"[..], b"", b"{\"b\":2}\r"]);
            assert_eq!(inbox.pending(), 1);
        }
    }

    #[test]
    fn a_line_longer_than_the_inbox_arrives_whole() {
        let mut long: Vec<u8> = (0..3_000_000u32).map(|number| b'a' + (number % 23) as u8).collect();
        let mut inbox = Inbox::new();
        let mut text = long.clone();
        text.extend_from_slice(b"\nshort\n");
        let lines = feed(&mut inbox, &text);
        assert_eq!(lines.len(), 2);
        assert!(lines[0] == long && lines[1] == b"short");
        inbox.room();
        assert!(inbox.bytes.len() <= KEPT_BYTES);
        long.clear();
    }

    #[test]
    fn a_taken_line_leaves_no_copy() {
        let mut inbox = Inbox::new();
        feed(&mut inbox, b"not-a-real-secret\nnext");
        assert!(!inbox.bytes.windows(17).any(|window| window == b"not-a-real-secret"));
        assert_eq!(feed(&mut inbox, b" line\n"), [b"next line"]);
    }
}
