/// Decodes scanned JSON strings. The scanner has checked their escapes.
enum JSONText {
  static func hexadecimalDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
  }

  /// The bytes between the quotes.
  static func content(_ entry: JSONTapeEntry, _ bytes: UnsafePointer<UInt8>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: bytes + Int(entry.start) + 1, count: Int(entry.end - entry.start) - 2)
  }

  static func utf8(_ entry: JSONTapeEntry, _ bytes: UnsafePointer<UInt8>) -> [UInt8] {
    let content = content(entry, bytes)
    guard entry.escaped else { return [UInt8](content) }
    return [UInt8](unsafeUninitializedCapacity: content.count) { buffer, count in
      count = unescape(content, into: UnsafeMutableRawBufferPointer(buffer))
    }
  }

  static func string(_ entry: JSONTapeEntry, _ bytes: UnsafePointer<UInt8>) -> String {
    let content = content(entry, bytes)
    guard entry.escaped else { return String(decoding: content, as: UTF8.self) }
    return String(unsafeUninitializedCapacity: content.count) {
      unescape(content, into: UnsafeMutableRawBufferPointer($0))
    }
  }

  /// Decodes `text` into `target`, which holds at least as many bytes, and returns the number of bytes written.
  /// Decoding never lengthens a text.
  static func unescape(_ text: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int {
    var read = 0
    var written = 0
    func unit(at position: Int) -> UInt32 {
      (0..<4).reduce(0) { $0 << 4 | (hexadecimalDigit(text[position + $1]) ?? 0) }
    }
    while read < text.count {
      guard text[read] == UInt8(ascii: "\\") else {
        target[written] = text[read]
        read += 1
        written += 1
        continue
      }
      var scalar: UInt32
      switch text[read + 1] {
      case UInt8(ascii: "b"): scalar = 0x08
      case UInt8(ascii: "f"): scalar = 0x0C
      case UInt8(ascii: "n"): scalar = 0x0A
      case UInt8(ascii: "r"): scalar = 0x0D
      case UInt8(ascii: "t"): scalar = 0x09
      case UInt8(ascii: "u"):
        scalar = unit(at: read + 2)
        read += 4
        if 0xD800..<0xDC00 ~= scalar {
          scalar = 0x10000 + (scalar - 0xD800) << 10 + (unit(at: read + 4) - 0xDC00)
          read += 6
        }
      case let byte: scalar = UInt32(byte)
      }
      read += 2
      for byte in Unicode.UTF8.encode(Unicode.Scalar(scalar) ?? "\u{FFFD}")! {
        target[written] = byte
        written += 1
      }
    }
    return written
  }
}
