import JSONRPC
import Testing

/// RFC 3629 by enumeration: the scanner must agree with its grammar on every sequence.
@Suite struct UTF8Tests {
  /// The grammar of RFC 3629 §4, checked a second way: decode, then compare with the shortest form of the scalar.
  static func isOneScalar(_ bytes: ArraySlice<UInt8>) -> Bool {
    let first = bytes[bytes.startIndex]
    let expected: (Int, UInt32)
    switch first {
    case 0x00..<0x80: expected = (1, UInt32(first))
    case 0xC0..<0xE0: expected = (2, UInt32(first & 0x1F))
    case 0xE0..<0xF0: expected = (3, UInt32(first & 0x0F))
    case 0xF0..<0xF8: expected = (4, UInt32(first & 0x07))
    default: return false
    }
    guard bytes.count == expected.0 else { return false }
    var scalar = expected.1
    for byte in bytes.dropFirst() {
      guard byte & 0xC0 == 0x80 else { return false }
      scalar = scalar << 6 | UInt32(byte & 0x3F)
    }
    let least: [UInt32] = [0, 0, 0x80, 0x800, 0x10000]
    return scalar >= least[bytes.count] && scalar <= 0x10FFFF && !(0xD800..<0xE000).contains(scalar)
  }

  static func quoted(_ bytes: [UInt8]) -> [UInt8] { [0x22] + bytes + [0x22] }

  /// Scans `bytes` in place between quotes, without allocation, so that millions of scans are cheap.
  struct Probe: ~Copyable {
    var tape = JSONTape()
    mutating func takes(_ bytes: UnsafeRawBufferPointer) -> Bool {
      (try? JSONScanner.scan(bytes, onto: &tape)) != nil
    }
  }

  @Test func twoByteSequences_agreeWithRFC3629() {
    for first in UInt8(0x80)...0xFF {
      for second in UInt8(0)...0xFF where second != 0x22 && second != 0x5C {
        let bytes = [first, second]
        #expect((verdict(Self.quoted(bytes)) == .value) == Self.isOneScalar(bytes[...]), "\(bytes)")
      }
    }
  }

  @Test func threeByteSequences_agreeWithRFC3629() {
    var probe = Probe()
    var wrong = 0
    var bytes: [UInt8] = [0x22, 0, 0, 0, 0x22]
    for first in UInt8(0xE0)...0xEF {
      bytes[1] = first
      for second in UInt8(0)...0xFF where second != 0x22 && second != 0x5C {
        bytes[2] = second
        for third in UInt8(0)...0xFF where third != 0x22 && third != 0x5C {
          bytes[3] = third
          let takes = bytes.withUnsafeBytes { probe.takes($0) }
          if takes != Self.isOneScalar(bytes[1...3]) { wrong += 1 }
        }
      }
    }
    #expect(wrong == 0)
  }

  /// Four bytes: every lead and second byte, and for the others every value at each edge.
  @Test func fourByteSequences_agreeWithRFC3629AtEveryEdge() {
    let edges: [UInt8] = [0x00, 0x21, 0x41, 0x7F, 0x80, 0x81, 0x9F, 0xA0, 0xBE, 0xBF, 0xC0, 0xC2, 0xE0, 0xF4, 0xFF]
    var probe = Probe()
    var wrong = 0
    var bytes: [UInt8] = [0x22, 0, 0, 0, 0, 0x22]
    for first in UInt8(0xF0)...0xFF {
      bytes[1] = first
      for second in UInt8(0)...0xFF where second != 0x22 && second != 0x5C {
        bytes[2] = second
        for third in edges {
          bytes[3] = third
          for fourth in edges {
            bytes[4] = fourth
            let takes = bytes.withUnsafeBytes { probe.takes($0) }
            if takes != Self.isOneScalar(bytes[1...4]) { wrong += 1 }
          }
        }
      }
    }
    #expect(wrong == 0)
  }

  @Test func everyScalar_isAccepted() throws {
    var probe = Probe()
    var wrong = 0
    for value in UInt32(0x20)...0x10FFFF {
      guard let scalar = Unicode.Scalar(value), value != 0x22, value != 0x5C else { continue }
      let bytes = [0x22] + [UInt8](String(scalar).utf8) + [0x22]
      if !bytes.withUnsafeBytes({ probe.takes($0) }) { wrong += 1 }
    }
    #expect(wrong == 0)
  }

  @Test(arguments: [[0xC3], [0xE2], [0xE2, 0x82], [0xF0], [0xF0, 0x9F], [0xF0, 0x9F, 0x98]] as [[UInt8]])
  func truncatedSequence_isIncompleteOrMalformed(bytes: [UInt8]) {
    #expect(verdict([0x22] + bytes) == .refused(.incomplete))
    #expect(verdict(Self.quoted(bytes)) == .refused(.malformed))
    #expect(verdict(Self.quoted(bytes + [0x41])) == .refused(.malformed))
  }

  /// Outside strings, no byte beyond ASCII is accepted.
  @Test(arguments: [[0xC3, 0xA9], [0xFE, 0xFF], [0xFF, 0xFE, 0x31, 0x00], [0xEF, 0xBB, 0xBF, 0x31]] as [[UInt8]])
  func nonASCIIOutsideStrings_isMalformed(bytes: [UInt8]) { #expect(verdict(bytes) == .refused(.malformed)) }

  @Test func everyEscapedUTF16Unit_isReadOrMalformed() throws {
    for unit in UInt32(0)...0xFFFF {
      let hex = String(unit, radix: 16)
      let text = "\"\\u" + String(repeating: "0", count: 4 - hex.count) + hex + "\""
      guard let scalar = Unicode.Scalar(unit) else {
        #expect(verdict(text) == .refused(.malformed), "\(text)")
        continue
      }
      try withNode(text) { node in
        if node.utf8 != [UInt8](String(scalar).utf8) { Issue.record("\(text)") }
      }
    }
  }

  @Test func escapedSurrogatePairs_areJoined() throws {
    for (high, low, scalar) in [
      (0xD800, 0xDC00, 0x10000), (0xDBFF, 0xDFFF, 0x10FFFF), (0xD83D, 0xDE00, 0x1F600), (0xD800, 0xDFFF, 0x103FF),
    ] {
      let text = "\"\\u\(String(high, radix: 16))\\u\(String(low, radix: 16, uppercase: true))\""
      try withNode(text) { #expect($0.string?.unicodeScalars.map { Int($0.value) } == [scalar]) }
    }
    for low in [0xD7FF, 0xE000, 0xDBFF] {
      #expect(verdict("\"\\ud800\\u\(String(low, radix: 16))\"") == .refused(.malformed))
    }
  }
}
