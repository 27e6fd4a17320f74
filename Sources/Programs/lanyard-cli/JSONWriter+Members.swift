import JSONRPC

extension JSONWriter {
  mutating func member(_ name: StaticString, _ value: Int?) {
    guard let value else { return }
    key(name)
    integer(value)
  }

  mutating func member(_ name: StaticString, _ value: Bool) {
    key(name)
    bool(value)
  }

  /// Writes an array of strings, or nothing for an empty one.
  mutating func member(_ name: StaticString, ifAny values: [String]) {
    if !values.isEmpty { member(name, values) }
  }

  /// Writes JSON text as a value, or nothing for nil.
  mutating func member(_ name: StaticString, json: String?) {
    guard var json else { return }
    key(name)
    json.withUTF8 { raw(UnsafeRawBufferPointer($0)) }
  }
}

extension JSONNode {
  /// The value's JSON text.
  var text: String { String(decoding: raw, as: UTF8.self) }
}
