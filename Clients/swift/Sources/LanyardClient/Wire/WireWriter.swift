/// Writes JSON into a buffer that wipes itself.
package struct WireWriter {
  let buffer: WireBuffer
  /// False: a secret is written as `null`.
  let revealsSecrets: Bool
  private var needsComma = false

  package init(revealsSecrets: Bool = true) {
    buffer = WireBuffer()
    self.revealsSecrets = revealsSecrets
  }

  package mutating func beginObject() { begin("{") }
  package mutating func endObject() { end("}") }
  package mutating func beginArray() { begin("[") }
  package mutating func endArray() { end("]") }

  package mutating func key(_ name: String) {
    string(name)
    buffer.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes a member. One that is nil is left out.
  package mutating func member(_ name: String, _ value: (some WireValue)?) {
    guard let value else { return }
    key(name)
    value.write(to: &self)
  }

  package mutating func string(_ text: String) {
    separate()
    var text = text
    text.withUTF8 { quoted(UnsafeRawBufferPointer($0)) }
  }

  mutating func secret(_ secret: Secret) {
    guard revealsSecrets else { return literal("null") }
    separate()
    secret.withBytes { quoted($0) }
  }

  package mutating func literal(_ text: String) {
    separate()
    buffer.append(text)
  }

  package mutating func value(_ json: JSON) {
    switch json {
    case .null: literal("null")
    case .bool(let value): literal(value ? "true" : "false")
    case .integer(let value): literal(String(value))
    // JSON has no other numbers (RFC 8259 §6).
    case .number(let value): literal(value.isFinite ? "\(value)" : "null")
    case .string(let text): string(text)
    case .array(let elements):
      beginArray()
      for element in elements { value(element) }
      endArray()
    case .object(let members):
      beginObject()
      for (name, member) in members.sorted(by: { $0.key < $1.key }) {
        key(name)
        value(member)
      }
      endObject()
    }
  }

  /// Writes what another writer wrote.
  mutating func written(_ other: WireWriter) {
    separate()
    other.buffer.withBytes { buffer.append($0) }
  }

  private mutating func begin(_ bracket: Unicode.Scalar) {
    separate()
    buffer.append(UInt8(ascii: bracket))
    needsComma = false
  }

  private mutating func end(_ bracket: Unicode.Scalar) {
    buffer.append(UInt8(ascii: bracket))
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { buffer.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  private func quoted(_ text: UnsafeRawBufferPointer) {
    buffer.reserve(text.count + 2)
    buffer.append(UInt8(ascii: "\""))
    var plain = 0
    for index in text.indices {
      let byte = text[index]
      guard byte < 0x20 || byte == 0x22 || byte == 0x5C else { continue }
      buffer.append(UnsafeRawBufferPointer(rebasing: text[plain..<index]))
      escape(byte)
      plain = index + 1
    }
    buffer.append(UnsafeRawBufferPointer(rebasing: text[plain...]))
    buffer.append(UInt8(ascii: "\""))
  }

  private func escape(_ byte: UInt8) {
    switch byte {
    case 0x22: buffer.append("\\\"")
    case 0x5C: buffer.append("\\\\")
    case 0x0A: buffer.append("\\n")
    case 0x0D: buffer.append("\\r")
    case 0x09: buffer.append("\\t")
    default: buffer.append("\\u00" + (byte < 16 ? "0" : "") + String(byte, radix: 16))
    }
  }
}
