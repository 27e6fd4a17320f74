internal import Glibc

/// An absolute path as the kernel has it: bytes, which need not be UTF-8.
package struct PathBytes: Hashable, Sendable {
  package let bytes: [UInt8]

  package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
  package init(_ text: String) { bytes = Array(text.utf8) }

  /// The working directory. Nil with `errno` set if it is gone or can't be reached.
  package static var workingDirectory: PathBytes? { taking(getcwd(nil, 0)) }

  /// The path without links and dot segments. Nil with `errno` set if there is nothing at the path.
  package var resolved: PathBytes? { withPointer { Self.taking(realpath($0, nil)) } }

  private static func taking(_ path: UnsafeMutablePointer<CChar>?) -> PathBytes? {
    guard let path else { return nil }
    defer { free(path) }
    return PathBytes(UnsafeRawBufferPointer(start: path, count: strlen(path)))
  }

  /// As text; nil if it is not UTF-8.
  package var text: String? { String(validating: bytes, as: UTF8.self) }

  /// For a person: a byte that is no part of a character is shown as `\xE9`.
  package var shown: String {
    var shown = String.UnicodeScalarView()
    var rest = bytes[...]
    while !rest.isEmpty {
      var parser = Unicode.UTF8.ForwardParser()
      var bytes = rest.makeIterator()
      switch parser.parseScalar(from: &bytes) {
      case .valid(let encoded):
        shown.append(UTF8.decode(encoded))
        rest = rest.dropFirst(encoded.count)
      case .error(let length):
        for byte in rest.prefix(length) {
          shown.append(contentsOf: "\\x\(Self.hexadecimal([byte]).uppercased())".unicodeScalars)
        }
        rest = rest.dropFirst(length)
      case .emptyInput: return String(shown)
      }
    }
    return String(shown)
  }

  /// The path for `account.resolve`: as text, or as a `file:` URL (RFC 8089) where it is not UTF-8.
  package var wireText: String {
    text
      ?? "file://"
      + bytes.map { Self.isPlain($0) ? String(UnicodeScalar($0)) : "%" + Self.hexadecimal([$0]) }.joined()
  }

  /// The opposite of `wireText`. Nil for what is no absolute path.
  package init?(wireText: String) {
    let scheme = "file://"
    guard wireText.hasPrefix(scheme) else {
      guard wireText.utf8.first == UInt8(ascii: "/"), !wireText.utf8.contains(0) else { return nil }
      self.init(wireText)
      return
    }
    var bytes: [UInt8] = []
    var rest = wireText.utf8.dropFirst(scheme.utf8.count)
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let decoded = Self.decoded(rest.prefix(2)) else { return nil }
      bytes += decoded
      rest = rest.dropFirst(2)
    }
    guard bytes.first == UInt8(ascii: "/"), !bytes.contains(0) else { return nil }
    self.init(bytes)
  }

  /// The directory that the path is in; `/` for `/`.
  package var directory: PathBytes {
    var rest = bytes[...]
    while rest.count > 1, rest.last == UInt8(ascii: "/") { rest = rest.dropLast() }
    while let last = rest.last, last != UInt8(ascii: "/") { rest = rest.dropLast() }
    while rest.count > 1, rest.last == UInt8(ascii: "/") { rest = rest.dropLast() }
    return PathBytes(rest.isEmpty ? [UInt8(ascii: "/")] : Array(rest))
  }

  package var isRoot: Bool { bytes.allSatisfy { $0 == UInt8(ascii: "/") } }

  package func appending(_ name: String) -> PathBytes {
    PathBytes(bytes.last == UInt8(ascii: "/") ? bytes + name.utf8 : bytes + "/\(name)".utf8)
  }

  package func withPointer<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    (bytes.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { body($0.baseAddress!) }
  }

  // MARK: hexadecimal digits

  static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".unicodeScalars)
    return bytes.reduce(into: "") { text, byte in
      text.unicodeScalars.append(digits[Int(byte >> 4)])
      text.unicodeScalars.append(digits[Int(byte & 15)])
    }
  }

  /// Nil for what are no pairs of digits.
  static func decoded(_ digits: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in digits {
      let value: UInt8
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): value = digit - UInt8(ascii: "A") + 10
      default: return nil
      }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return high == nil && !bytes.isEmpty ? bytes : nil
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"), UInt8(ascii: "/"):
      true
    default: false
    }
  }
}
