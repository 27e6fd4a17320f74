/// An object of the contract. ``extra`` keeps members that this version does not know.
public protocol Record: Sendable, Equatable {
  /// Members of the answer that have no property here.
  var extra: ExtraMembers { get set }
}

extension Record {
  /// Reads an object.
  ///
  /// - Throws: ``LanyardError`` with ``LanyardError/protocolError`` if a member is missing or of another type. The text
  ///   names the place, never the value.
  public init(json: JSON) throws(LanyardError) {
    guard let type = Self.self as? any WireRecord.Type, let record = try type.read(json) as? Self else {
      throw LanyardError(.protocolError, "\(Self.self) is no record of the contract")
    }
    self = record
  }

  /// The object as it goes over the wire, with the members of ``extra``. Without `revealingSecrets`, a secret is null.
  public func json(revealingSecrets: Bool) -> JSON {
    guard let record = self as? any WireRecord else { return .null }
    return record.written(revealingSecrets: revealingSecrets)
  }
}

/// A record of the generated code.
package protocol WireRecord: Record, WireValue {
  /// Reads the members.
  init(_ members: borrowing WireMembers) throws(LanyardError)
  /// Writes the members, without the braces and without those of ``extra``.
  func writeMembers(to writer: inout WireWriter)
}

extension WireRecord {
  package init(_ node: WireNode, at path: @autoclosure () -> String) throws(LanyardError) {
    let path = path()
    guard node.mark.kind == .object else { throw .unexpected(path, "not an object") }
    try self.init(WireMembers(node, at: path))
  }

  package func write(to writer: inout WireWriter) {
    writer.beginObject()
    writeMembers(to: &writer)
    for (name, value) in extra.members.sorted(by: { $0.key < $1.key }) { writer.member(name, value) }
    writer.endObject()
  }

  fileprivate static func read(_ json: JSON) throws(LanyardError) -> Self {
    var writer = WireWriter()
    writer.value(json)
    return try Self(WireDocument(parsing: writer.buffer).root, at: "")
  }

  fileprivate func written(revealingSecrets: Bool) -> JSON {
    var writer = WireWriter(revealsSecrets: revealingSecrets)
    write(to: &writer)
    guard let document = try? WireDocument(parsing: writer.buffer) else { preconditionFailure("wrote no JSON") }
    return document.root.json
  }
}

extension WireMembers {
  /// The members of an object that was not read from the wire.
  package init(_ json: JSON) throws(LanyardError) {
    var writer = WireWriter()
    writer.value(json)
    self.init(try WireDocument(parsing: writer.buffer).root, at: "")
  }
}

/// The members of an object while a record reads them.
package struct WireMembers {
  private let node: WireNode
  private let path: String

  init(_ node: WireNode, at path: String) {
    self.node = node
    self.path = path
  }

  /// The member's value.
  package func required<Value: WireValue>(_ name: String) throws(LanyardError) -> Value {
    guard let member = node[name], !member.isNull else {
      throw .unexpected(path, "no member \(name)")
    }
    return try Value(member, at: "\(path)/\(name)")
  }

  /// The member's value; nil if it is absent or null.
  package func optional<Value: WireValue>(_ name: String) throws(LanyardError) -> Value? {
    guard let member = node[name], !member.isNull else { return nil }
    return try Value(member, at: "\(path)/\(name)")
  }

  /// The members with other names.
  package func others(than known: Set<String>) -> ExtraMembers {
    var extra: [String: JSON] = [:]
    for (key, value) in node.members {
      guard let name = key.string, !known.contains(name) else { continue }
      extra[name] = value.json
    }
    return ExtraMembers(extra)
  }
}

/// Members of an object that this version of the client does not know.
///
/// Printing shows their names and not their values, since a newer agent may have new secrets.
public struct ExtraMembers: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  /// The members by their names on the wire.
  public var members: [String: JSON]

  public init(_ members: [String: JSON] = [:]) { self.members = members }

  public init(dictionaryLiteral members: (String, JSON)...) {
    self.members = Dictionary(members) { _, last in last }
  }

  /// The value of a member; nil if it is absent.
  public subscript(name: String) -> JSON? { members[name] }

  /// True if there are none.
  public var isEmpty: Bool { members.isEmpty }
}

extension ExtraMembers: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The names of the members.
  public var description: String { "[" + members.keys.sorted().joined(separator: ", ") + "]" }
  /// The names of the members.
  public var debugDescription: String { description }
  /// A mirror without values.
  public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}

/// A word of a set that may grow. A word that this version does not know keeps its ``rawValue``.
///
/// Words are compared like cases: `if account.state == .active`, `switch event.type { case .sessionExpired: … }`.
public protocol Word: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible
where RawValue == String {
  /// The words that this version knows, in the order of the contract.
  static var known: [Self] { get }
  init(rawValue: String)
}

extension Word {
  public init(stringLiteral value: String) { self.init(rawValue: value) }
  /// The word on the wire.
  public var description: String { rawValue }
}

package protocol WireWord: Word, WireValue {}

extension WireWord {
  package init(_ node: WireNode, at path: @autoclosure () -> String) throws(LanyardError) {
    self.init(rawValue: try String(node, at: path()))
  }

  package func write(to writer: inout WireWriter) { writer.string(rawValue) }
}
