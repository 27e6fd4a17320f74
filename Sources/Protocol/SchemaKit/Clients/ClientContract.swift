/// The contract as a client needs it: what is named, in which order, with which types. Every language's renderer goes
/// through this, so that all clients have the same parts; a renderer only says how a part looks in its language.
struct ClientContract {
  /// A member of a record or of params.
  struct Member {
    /// The name on the wire.
    var name: String
    var type: ClientType
    var isRequired: Bool
    /// True if the value is secret: it is not printed.
    var isSecret: Bool
    var schema: Schema
  }

  /// An object with known members: a type of `types/`, params, a result without a type of its own, or an event's `data`.
  struct Record {
    /// In upper camel case: `Token`, `TokenGetParams`, `AccountListResult`, `TokenRefreshedData`.
    var name: String
    /// What it is, in words of the contract.
    var documentation: String
    /// Required members first, each kind in the order of the schema.
    var members: [Member]
    /// The method whose params or result this is; nil for a type and for an event's data.
    var method: Method?
    /// True if the agent refuses members that it does not know: the record is input, and keeps no unknown members.
    var isClosed: Bool
  }

  /// An open set of strings: a client accepts words that it does not know.
  struct Enumeration {
    /// In upper camel case.
    var name: String
    var documentation: String
    /// The words on the wire.
    var words: [String]
  }

  /// A method, with its params and its result.
  struct Operation {
    var method: Method
    /// Nil if the method takes no params.
    var params: Record?
    /// The name of the result's record.
    var resultName: String
    /// True if no param is required.
    var paramsAreOptional: Bool { params?.members.allSatisfy { !$0.isRequired } ?? true }
  }

  /// The methods with one first name: `token` of `token.get`.
  struct Namespace {
    var name: String
    var operations: [Operation]
  }

  /// A type of event, with the record of its `data`.
  struct Event {
    var kind: EventKind
    var data: Record
  }

  let contract: Contract
  /// Whether params are records of their own. If not, they are the arguments of a call, and their types need no record.
  let hasParamRecords: Bool
  private let reached: Set<String>

  init(_ contract: Contract, hasParamRecords: Bool = true, hasEventRecords: Bool = true) {
    self.contract = contract
    self.hasParamRecords = hasParamRecords
    // A type that only holds the params of a method is not reached by itself: the params have a record of their own.
    let params = contract.methods.flatMap { contract.resolved($0.params).object?.members.map(\.schema) ?? [] }
    reached = contract.reach(
      of: params + contract.methods.map(\.result) + [Schema(kind: .reference("eventNotification"), isSecret: false)]
        + (hasEventRecords ? contract.events.map(\.data) : []))
  }

  /// The errors that the agent itself defines. The five of JSON-RPC 2.0 have negative codes and are in `standardErrors`.
  var errors: [ErrorKind] { contract.errors.filter { $0.code > 0 } }

  /// The errors of JSON-RPC 2.0.
  var standardErrors: [ErrorKind] { contract.errors.filter { $0.code < 0 } }

  /// Sorted by name.
  var enumerations: [Enumeration] {
    contract.types.compactMap { name, schema in
      guard case .enumeration(let words) = schema.kind, reached.contains(name) else { return nil }
      return Enumeration(name: name.capitalizedFirst, documentation: schema.documentation, words: words)
    }
  }

  /// Object types and results, sorted by name; `Empty` is the result without members. Params and the data of events are
  /// not among them.
  var records: [Record] {
    var records = contract.types.compactMap { name, schema in
      schema.object.flatMap { shape in
        reached.contains(name) ? record(name.capitalizedFirst, schema.documentation, shape) : nil
      }
    }
    for method in contract.methods where method.result.reference == nil && method.resultName != "Empty" {
      let shape =
        method.result.object ?? Schema.ObjectShape(members: [], isClosed: false, exclusive: [], minimumMembers: 0)
      records.append(record(method.resultName, "The result of `\(method.name)`.", shape, of: method))
    }
    records.append(
      Record(name: "Empty", documentation: "A result without members.", members: [], method: nil, isClosed: false))
    return records.sorted { $0.name < $1.name }
  }

  /// In the order of `lanyard.json`, as their operations are.
  var namespaces: [Namespace] {
    let names = contract.methods.reduce(into: [String]()) { if !$0.contains($1.namespace) { $0.append($1.namespace) } }
    return names.map { name in
      Namespace(name: name, operations: contract.methods.filter { $0.namespace == name }.map(operation))
    }
  }

  /// Every method, in the order of `lanyard.json`.
  var operations: [Operation] { contract.methods.map(operation) }

  /// Every event, in the order of `lanyard.json`.
  var events: [Event] {
    contract.events.map { event in
      let name = event.name.split(separator: ".").map { String($0).capitalizedFirst }.joined() + "Data"
      let shape = contract.resolved(event.data).object!
      return Event(kind: event, data: record(name, "The `data` of the event `\(event.name)`: \(event.summary)", shape))
    }
  }

  /// The type of a value.
  func type(_ schema: Schema) -> ClientType {
    let resolved = contract.resolved(schema)
    switch resolved.kind {
    case .object: return .record(schema.reference!.capitalizedFirst)
    case .enumeration: return .enumeration(schema.reference!.capitalizedFirst)
    case .array(let shape): return .list(type(shape.items))
    case .map(let shape): return .map(shape.values.map(type) ?? .anything)
    case .string: return schema.reference == "instant" ? .instant : resolved.isSecret ? .secret : .text
    case .integer: return .integer
    case .boolean: return .boolean
    case .anything, .reference: return .anything
    }
  }

  private func operation(_ method: Method) -> Operation {
    let shape = contract.resolved(method.params).object
    let name = method.namespace.capitalizedFirst + method.verb.capitalizedFirst + "Params"
    let params = shape.flatMap { shape in
      shape.members.isEmpty ? nil : record(name, "The params of `\(method.name)`.", shape, of: method)
    }
    return Operation(method: method, params: params, resultName: method.resultName)
  }

  private func record(
    _ name: String, _ documentation: String, _ shape: Schema.ObjectShape, of method: Method? = nil
  ) -> Record {
    let members = shape.members.map { member in
      Member(
        name: member.name, type: type(member.schema), isRequired: member.isRequired,
        isSecret: contract.resolved(member.schema).isSecret, schema: member.schema)
    }
    return Record(
      name: name, documentation: documentation,
      members: members.filter(\.isRequired) + members.filter { !$0.isRequired }, method: method,
      isClosed: shape.isClosed)
  }
}

/// The type of a value, before a language names it.
indirect enum ClientType: Hashable {
  /// A record, by its name.
  case record(String)
  /// An open set of words, by its name.
  case enumeration(String)
  case list(ClientType)
  /// An object whose member names are data.
  case map(ClientType)
  case text
  /// A string that is not printed.
  case secret
  /// A string in RFC 3339, UTC, with milliseconds.
  case instant
  /// Within ±(2^53-1).
  case integer
  case boolean
  /// Any JSON.
  case anything
}

extension Method {
  /// The name of the method's result.
  var resultName: String {
    if let name = result.reference { return name.capitalizedFirst }
    if result.object?.members.isEmpty == true { return "Empty" }
    return namespace.capitalizedFirst + verb.capitalizedFirst + "Result"
  }
}
