#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A value that is read from and written to the wire.
package protocol WireValue: Sendable {
  /// - Throws: `protocolError` if the value has another type. The text names the place, never the value.
  init(_ node: WireNode, at path: @autoclosure () -> String) throws(LanyardError)
  func write(to writer: inout WireWriter)
}

extension LanyardError {
  static func unexpected(_ path: String, _ what: String) -> LanyardError {
    LanyardError(.protocolError, "\(path.isEmpty ? "/" : path): \(what)")
  }
}

extension String: WireValue {
  package init(_ node: WireNode, at path: @autoclosure () -> String) throws(LanyardError) {
    guard let text = node.string else { throw .unexpected(path(), "not a string") }
    self = text
  }

  package func write(to writer: inout WireWriter) { writer.string(self) }
}

extension Int: WireValue {
  package init(_ node: WireNode, at path: @autoclosure () -> String) throws(LanyardError) {
    guard let value = node.integer else { throw .unexpected(path(), "not an integer") }
    self = value
  }

  package func write(to writer: inout WireWriter) { writer.literal(String(self)) }
}

extension Bool: WireValue {
  package init(_ node: WireNode, at path: @autoclosure () -> String) throws(LanyardError) {
    guard let value = node.bool else { throw .unexpected(path(), "not a boolean") }
    self = value
  }

  package func write(to writer: inout WireWriter) { writer.literal(self ? "true" : "false") }
}

extension Secret: WireValue {
  package init(_ node: WireNode, at path: @autoclosure () -> String) throws(LanyardError) {
    guard let secret = node.secret else { throw .unexpected(path(), "not a string") }
    self = secret
  }

  package func write(to writer: inout WireWriter) { writer.secret(self) }
}

extension JSON: WireValue {
  package init(_ node: WireNode, at path: @autoclosure () -> String) throws(LanyardError) { self = node.json }

  package func write(to writer: inout WireWriter) { writer.value(self) }
}

extension Date: WireValue {
  package init(_ node: WireNode, at path: @autoclosure () -> String) throws(LanyardError) {
    guard let text = node.string, let instant = Instant.date(text) else { throw .unexpected(path(), "not an instant") }
    self = instant
  }

  package func write(to writer: inout WireWriter) { writer.string(Instant.text(self)) }
}

extension Array: WireValue where Element: WireValue {
  package init(_ node: WireNode, at path: @autoclosure () -> String) throws(LanyardError) {
    guard node.mark.kind == .array else { throw .unexpected(path(), "not an array") }
    self = []
    for (index, element) in node.elements.enumerated() { append(try Element(element, at: "\(path())/\(index)")) }
  }

  package func write(to writer: inout WireWriter) {
    writer.beginArray()
    for element in self { element.write(to: &writer) }
    writer.endArray()
  }
}

extension Dictionary: WireValue where Key == String, Value: WireValue {
  package init(_ node: WireNode, at path: @autoclosure () -> String) throws(LanyardError) {
    guard node.mark.kind == .object else { throw .unexpected(path(), "not an object") }
    self = [:]
    for (key, value) in node.members {
      let name = key.string ?? ""
      self[name] = try Value(value, at: "\(path())/\(name)")
    }
  }

  package func write(to writer: inout WireWriter) {
    writer.beginObject()
    for (name, value) in sorted(by: { $0.key < $1.key }) { writer.member(name, value) }
    writer.endObject()
  }
}
