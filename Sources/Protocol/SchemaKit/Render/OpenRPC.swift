/// The contract as an OpenRPC 1.3 document, the result of `rpc.discover`.
struct OpenRPCDocument {
  let contract: Contract

  /// The whole document.
  var value: JSONValue {
    let schemas = contract.documents.filter { $0.path.hasPrefix("types/") }.map { document in
      JSONMember(String(document.path.dropFirst(6).dropLast(5)), document.value.withoutDialect.withComponentReferences)
    }
    let errors = contract.errors.map { error in
      let value: JSONValue = ["code": .number("\(error.code)"), "message": .string(error.meaning)]
      return JSONMember(error.name, value)
    }
    return [
      "openrpc": "1.3.2",
      "info": [
        "title": .string(contract.title), "description": .string(contract.description),
        "version": .string(contract.protocolVersion),
      ],
      "methods": .array(contract.methods.map(value(of:))),
      "components": ["schemas": .object(schemas), "errors": .object(errors)],
      "x-events": .array(contract.events.map(value(of:))),
    ]
  }

  private func value(of method: Method) -> JSONValue {
    let document = contract.documents.first { $0.path == "methods/\(method.name).json" }!.value
    var members: [JSONMember] = [
      JSONMember("name", .string(method.name)),
      JSONMember("summary", .string(method.summary)),
    ]
    if let description = method.description { members.append(JSONMember("description", .string(description))) }
    let shape = contract.resolved(method.params).object
    let properties = paramsDocument(of: document)["properties"]
    let params = (shape?.members ?? []).map { member -> JSONValue in
      [
        "name": .string(member.name), "required": .bool(member.isRequired),
        "schema": properties?[member.name]?.withComponentReferences ?? .object([]),
      ]
    }
    members += [
      JSONMember("paramStructure", "by-name"),
      JSONMember("params", .array(params)),
      JSONMember("result", ["name": "result", "schema": document["result"]!.withComponentReferences]),
      JSONMember(
        "errors", .array((method.errors + contract.commonErrors).map { ["$ref": .string("#/components/errors/\($0)")] })
      ),
      JSONMember("examples", .array(method.examples.enumerated().map { value(of: $1, number: $0 + 1) })),
      JSONMember("x-since", .string(method.since)),
      JSONMember("x-feature", .string(method.feature)),
      JSONMember("x-account-scoped", .bool(method.accountScoped)),
      JSONMember("x-under-grant", .string(method.underGrant.rawValue)),
      JSONMember("x-ordering", .string(method.ordering.rawValue)),
      JSONMember("x-idempotent", .bool(method.idempotent)),
      JSONMember("x-carries-body", .bool(method.carriesBody)),
    ]
    return .object(members)
  }

  /// The params schema: in the method's file, or in `types/` if several methods share it.
  private func paramsDocument(of document: JSONValue) -> JSONValue {
    guard let path = document["params"]?["$ref"]?.string else { return document["params"]! }
    return contract.documents.first { path.hasSuffix($0.path) }!.value
  }

  private func value(of example: Method.Example, number: Int) -> JSONValue {
    [
      "name": .string("example \(number)"),
      "params": .array((example.params.members ?? []).map { ["name": .string($0.name), "value": $0.value] }),
      "result": ["name": "result", "value": example.result],
    ]
  }

  private func value(of event: EventKind) -> JSONValue {
    let document = contract.documents.first { $0.path == "events/\(event.name).json" }!.value
    return [
      "name": .string(event.name), "summary": .string(event.summary), "x-since": .string(event.since),
      "x-account-scoped": .bool(event.accountScoped), "data": document["data"]!.withComponentReferences,
    ]
  }
}

extension JSONValue {
  /// Replaces `../types/scope.json` by `#/components/schemas/scope`.
  fileprivate var withComponentReferences: JSONValue {
    switch self {
    case .array(let elements): .array(elements.map(\.withComponentReferences))
    case .object(let members):
      .object(
        members.map { member in
          guard member.name == "$ref", let path = member.value.string, let name = path.split(separator: "/").last else {
            return JSONMember(member.name, member.value.withComponentReferences)
          }
          return JSONMember("$ref", .string("#/components/schemas/\(name.dropLast(5))"))
        })
    default: self
    }
  }

  fileprivate var withoutDialect: JSONValue {
    .object((members ?? []).filter { $0.name != "$schema" })
  }
}
