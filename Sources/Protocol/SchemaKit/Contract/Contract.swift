/// Everything that `Schemas/` says.
public struct Contract: Sendable {
  public var title: String
  public var description: String
  /// The version that `agent.hello` tells.
  public var protocolVersion: String
  /// In the order of `lanyard.json`.
  public var methods: [Method]
  public var events: [EventKind]
  public var errors: [ErrorKind]
  /// What every method can answer.
  public var commonErrors: [String]
  /// Sorted by name.
  public var types: [(name: String, schema: Schema)]
  public var policy: Schema
  /// The documents as they were read, by path, sorted.
  public var documents: [(path: String, value: JSONValue)]

  public func method(_ name: String) -> Method? { methods.first { $0.name == name } }
  public func event(_ name: String) -> EventKind? { events.first { $0.name == name } }
  public func error(_ name: String) -> ErrorKind? { errors.first { $0.name == name } }
  public func type(_ name: String) -> Schema? { types.first { $0.name == name }?.schema }

  /// Follows `$ref` to what is meant; the flag of a secret stays on the way.
  public func resolved(_ schema: Schema) -> Schema {
    guard let name = schema.reference, let target = type(name) else { return schema }
    var resolved = resolved(target)
    resolved.isSecret = resolved.isSecret || schema.isSecret
    return resolved
  }

  /// The types that these schemas reach.
  func reach(of schemas: [Schema]) -> Set<String> {
    var reached: Set<String> = []
    func visit(_ schema: Schema) {
      switch schema.kind {
      case .reference(let name): if reached.insert(name).inserted, let target = type(name) { visit(target) }
      case .object(let shape): for member in shape.members { visit(member.schema) }
      case .array(let shape): visit(shape.items)
      case .map(let shape):
        if let values = shape.values { visit(values) }
        if let names = shape.names { visit(names) }
      case .string, .enumeration, .integer, .boolean, .anything: break
      }
    }
    for schema in schemas { visit(schema) }
    return reached
  }
}
