/// The content of `Schemas/`.
public struct Contract: Sendable {
  /// The title of the OpenRPC document.
  public var title: String
  /// The description of the OpenRPC document.
  public var description: String
  /// The protocol version in the result of `agent.hello`.
  public var protocolVersion: String
  /// Methods in the order of `lanyard.json`.
  public var methods: [Method]
  /// Events in the order of `lanyard.json`.
  public var events: [EventKind]
  /// The errors of `errors.json`, in order.
  public var errors: [ErrorKind]
  /// Names of the errors that every method can answer.
  public var commonErrors: [String]
  /// The files of `types/`, sorted by name.
  public var types: [(name: String, schema: Schema)]
  /// The schema of policy documents.
  public var policy: Schema
  /// The schema of the agent's configuration file.
  public var configuration: Schema
  /// The schema of an organisation's policy bundle.
  public var bundle: Schema
  /// All parsed files, sorted by path.
  public var documents: [(path: String, value: JSONValue)]

  /// The method with this name; nil if there is none.
  public func method(_ name: String) -> Method? { methods.first { $0.name == name } }
  /// The event with this name; nil if there is none.
  public func event(_ name: String) -> EventKind? { events.first { $0.name == name } }
  /// The error with this name; nil if there is none.
  public func error(_ name: String) -> ErrorKind? { errors.first { $0.name == name } }
  /// The type with this name; nil if there is none.
  public func type(_ name: String) -> Schema? { types.first { $0.name == name }?.schema }

  /// Follows `$ref` to the target. It is secret if any schema on the way is.
  public func resolved(_ schema: Schema) -> Schema {
    guard let name = schema.reference, let target = type(name) else { return schema }
    var resolved = resolved(target)
    resolved.isSecret = resolved.isSecret || schema.isSecret
    return resolved
  }

  /// The names of all types that the schemas refer to, directly or not.
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
