public import Foundation
internal import JSONRPC

/// Why `Schemas/` is invalid. Pointers start with the path of the file.
public struct ContractProblems: Error, CustomStringConvertible {
  /// All problems found.
  public var problems: [Problem]
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}

extension Contract {
  /// Reads a directory with the layout of `Schemas/README.md`.
  ///
  /// - Throws: `ContractProblems` if a document is invalid or a folder can't be read.
  public init(directory: URL) throws(ContractProblems) {
    var documents: [(path: String, value: JSONValue)] = []
    var problems: [Problem] = []
    for path in try Self.paths(in: directory) {
      do throws(JSONScanner.Failure) {
        documents.append(
          (path, try JSONValue(parsing: [UInt8]((try? Data(contentsOf: directory.appending(path: path))) ?? Data()))))
      } catch {
        problems.append(Problem(path, "is not JSON: \(error)"))
      }
    }
    guard problems.isEmpty else { throw ContractProblems(problems: problems) }
    try self.init(documents: documents)
  }

  /// Reads documents by path.
  ///
  /// - Throws: `ContractProblems` with all problems if a document is invalid.
  public init(documents: [(path: String, value: JSONValue)]) throws(ContractProblems) {
    var reader = ContractReader(documents: documents)
    self = reader.contract()
    guard reader.problems.isEmpty else { throw ContractProblems(problems: reader.problems) }
  }

  private static func paths(in directory: URL) throws(ContractProblems) -> [String] {
    var paths: [String] = []
    for folder in ["", "methods", "types", "events"] {
      let place = directory.appending(path: folder).path
      guard let names = try? FileManager.default.contentsOfDirectory(atPath: place) else {
        throw ContractProblems(problems: [Problem(place, "is no folder that can be read")])
      }
      paths += names.filter { $0.hasSuffix(".json") }.map { folder.isEmpty ? $0 : folder + "/" + $0 }
    }
    return paths
  }
}

/// Reads the documents and collects their problems.
struct ContractReader {
  private let documents: [(path: String, value: JSONValue)]
  private(set) var problems: [Problem] = []

  init(documents: [(path: String, value: JSONValue)]) { self.documents = documents.sorted { $0.path < $1.path } }

  mutating func contract() -> Contract {
    let root = document(
      "lanyard.json", members: ["title", "protocol", "description", "errors", "policy", "methods", "events"])
    let types = names(in: "types").map { name -> (name: String, schema: Schema) in
      let path = "types/\(name).json"
      return (name, schema(document(path, members: nil), at: path))
    }
    let methods = listed(root, "methods").map { method($0) }
    let events = listed(root, "events").map { event($0) }
    let errorFile = document("errors.json", members: ["common", "errors"])
    let policy = schema(document("policy.schema.json", members: nil), at: "policy.schema.json")
    let contract = Contract(
      title: root["title"]?.string ?? "", description: root["description"]?.string ?? "",
      protocolVersion: root["protocol"]?.string ?? "", methods: methods, events: events,
      errors: (errorFile["errors"]?.elements ?? []).enumerated().map { error($1, at: "errors.json/errors/\($0)") },
      commonErrors: errorFile["common"]?.elements?.compactMap(\.string) ?? [], types: types, policy: policy,
      configuration: schema(document("agent.schema.json", members: nil), at: "agent.schema.json"),
      bundle: schema(document("bundle.schema.json", members: nil), at: "bundle.schema.json"), documents: documents)
    problems += ConsistencyCheck(of: contract).problems
    return contract
  }

  /// The names in a list of `lanyard.json`, which must match the files of the folder.
  private mutating func listed(_ root: JSONValue, _ folder: String) -> [String] {
    let listed = root[folder]?.elements?.compactMap(\.string) ?? []
    let found = names(in: folder)
    for name in found where !listed.contains(name) {
      problems.append(Problem("\(folder)/\(name).json", "is not listed in lanyard.json"))
    }
    for name in listed where !found.contains(name) {
      problems.append(Problem("lanyard.json/\(folder)", "lists \(name), which has no file"))
    }
    return listed.filter(found.contains)
  }

  private func names(in folder: String) -> [String] {
    documents.map(\.path).filter { $0.hasPrefix(folder + "/") }.map {
      String($0.dropFirst(folder.count + 1).dropLast(5))
    }
  }

  private mutating func document(_ path: String, members known: Set<String>?) -> JSONValue {
    guard let value = documents.first(where: { $0.path == path })?.value else {
      problems.append(Problem(path, "is missing"))
      return .object([])
    }
    for member in value.members ?? [] where known?.contains(member.name) == false {
      problems.append(Problem(path.pointer(to: member.name), "is not known here"))
    }
    return value
  }

  private mutating func schema(_ value: JSONValue, at path: String) -> Schema {
    var reader = SchemaReader()
    let schema = reader.schema(value, at: path)
    problems += reader.problems
    return schema
  }

  private mutating func text(_ value: JSONValue, _ member: String, at path: String) -> String {
    guard let text = value[member]?.string, !text.isEmpty else {
      problems.append(Problem(path.pointer(to: member), "is missing"))
      return ""
    }
    return text
  }

  private mutating func flag(_ value: JSONValue, _ member: String, at path: String) -> Bool {
    guard let flag = value[member]?.bool else {
      problems.append(Problem(path.pointer(to: member), "expected true or false"))
      return false
    }
    return flag
  }

  private mutating func method(_ name: String) -> Method {
    let path = "methods/\(name).json"
    let value = document(
      path,
      members: [
        "name", "summary", "description", "since", "feature", "accountScoped", "underGrant", "ordering", "idempotent",
        "carriesBody", "params", "result", "errors", "examples",
      ])
    if text(value, "name", at: path) != name { problems.append(Problem(path + "/name", "is not the file's name")) }
    let ordering = Method.Ordering(rawValue: text(value, "ordering", at: path))
    if ordering == nil { problems.append(Problem(path + "/ordering", "expected concurrent or connection")) }
    let accountScoped = flag(value, "accountScoped", at: path)
    // The default is the narrowest rule.
    var underGrant: Method.UnderGrant = accountScoped ? .account : .agent
    if let word = value["underGrant"] {
      let said = word.string.flatMap { Method.UnderGrant(rawValue: $0) }
      if said == nil || (said == .account) != accountScoped {
        problems.append(Problem(path + "/underGrant", "expected covered, shared, always, agent or never"))
      }
      underGrant = said ?? underGrant
    }
    return Method(
      name: name, summary: text(value, "summary", at: path), description: value["description"]?.string,
      since: text(value, "since", at: path), feature: text(value, "feature", at: path),
      accountScoped: accountScoped, underGrant: underGrant, ordering: ordering ?? .concurrent,
      idempotent: flag(value, "idempotent", at: path), carriesBody: flag(value, "carriesBody", at: path),
      params: schema(value["params"] ?? .null, at: path + "/params"),
      result: schema(value["result"] ?? .null, at: path + "/result"),
      errors: value["errors"]?.elements?.compactMap(\.string) ?? [],
      examples: (value["examples"]?.elements ?? []).map {
        .init(params: $0["params"] ?? .null, result: $0["result"] ?? .null)
      })
  }

  private mutating func event(_ name: String) -> EventKind {
    let path = "events/\(name).json"
    let value = document(path, members: ["name", "summary", "since", "accountScoped", "data", "examples"])
    if text(value, "name", at: path) != name { problems.append(Problem(path + "/name", "is not the file's name")) }
    return EventKind(
      name: name, summary: text(value, "summary", at: path), since: text(value, "since", at: path),
      accountScoped: flag(value, "accountScoped", at: path), data: schema(value["data"] ?? .null, at: path + "/data"),
      examples: value["examples"]?.elements ?? [])
  }

  private mutating func error(_ value: JSONValue, at path: String) -> ErrorKind {
    if value["code"]?.integer == nil { problems.append(Problem(path + "/code", "expected an integer")) }
    return ErrorKind(
      code: value["code"]?.integer ?? 0, name: text(value, "name", at: path), meaning: text(value, "meaning", at: path),
      retryable: flag(value, "retryable", at: path), data: value["data"]?.elements?.compactMap(\.string) ?? [])
  }
}
