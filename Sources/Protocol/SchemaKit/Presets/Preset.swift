/// A file of `Schemas/presets`: what is known of a provider.
public struct Preset: Sendable, Hashable {
  /// The name of the file without its extension.
  public var name: String
  /// The content of the file.
  public var value: JSONValue

  public init(name: String, value: JSONValue) {
    self.name = name
    self.value = value
  }
}

extension Contract {
  /// The schema of a preset's file, with its own problems; nil if it is missing.
  private var presetSchema: (schema: Schema, problems: [Problem])? {
    guard let document = documents.first(where: { $0.path == "preset.schema.json" }) else { return nil }
    var reader = SchemaReader()
    let schema = reader.schema(document.value, at: document.path)
    return (schema, reader.problems)
  }

  /// The problems of a preset's file: those that `preset.schema.json` finds, members without a source, and what
  /// contradicts itself.
  public func problems(of preset: Preset) -> [Problem] {
    let path = "presets/\(preset.name).json"
    guard let (schema, faults) = presetSchema else { return [Problem("preset.schema.json", "is missing")] }
    guard faults.isEmpty else { return faults }
    var problems = validate(preset.value, against: schema)
    if preset.value["name"]?.string != preset.name { problems.append(Problem("/name", "is not the file's name")) }
    problems += Self.unsourced(preset.value) + Self.contradictions(preset.value)
    return problems.map { Problem(path + $0.pointer, $0.text) }
  }

  /// Members that say what we call a service, and have no source.
  private static let ours = ["name", "title", "kind", "categories"]

  /// Every member has a rule that says where it is from, and no rule is about a member that is not there.
  private static func unsourced(_ value: JSONValue) -> [Problem] {
    let members = Set(value.members?.map(\.name) ?? []).subtracting(ours + ["rules"])
    let rules = value["rules"]?.elements ?? []
    let sourced = Set(rules.flatMap { $0["members"]?.elements?.compactMap(\.string) ?? [] })
    return members.subtracting(sourced).sorted().map {
      Problem("".pointer(to: $0), "has no rule that names its source")
    }
      + sourced.subtracting(members).sorted().map { Problem("/rules", "is about \($0), which is not there") }
  }

  private static func contradictions(_ value: JSONValue) -> [Problem] {
    (value["kind"]?.string == "secret" ? secretContradictions(value) : signInContradictions(value))
      + undottedOperations(value)
  }

  /// A word without a dot is a kind of operations (`policy.draft`).
  private static func undottedOperations(_ value: JSONValue) -> [Problem] {
    (value["operations"]?.elements ?? []).enumerated().compactMap { index, operation in
      guard let name = operation["name"]?.string, !name.contains(".") else { return nil }
      return Problem("/operations/\(index)/name", "has no dot")
    }
  }

  /// Members of a preset whose accounts are secrets.
  private static let ofSecrets: Set = [
    "allowedOrigins", "placement", "whoami", "revoke", "environment", "username", "page", "operations",
  ]

  private static func secretContradictions(_ value: JSONValue) -> [Problem] {
    let known = ofSecrets.union(ours + ["rules"])
    var problems = (value.members ?? []).map(\.name).filter { !known.contains($0) }
      .map { Problem("".pointer(to: $0), "is of a sign-in, and a secret has none") }
    for name in ["categories", "allowedOrigins", "page"] where value[name] == nil {
      problems.append(Problem("".pointer(to: name), "is missing, and the kind is secret"))
    }
    return problems
  }

  private static func signInContradictions(_ value: JSONValue) -> [Problem] {
    var problems: [Problem] = []
    for name in ["placement", "whoami", "revoke", "username"] where value[name] != nil {
      problems.append(Problem("".pointer(to: name), "is of a secret, and the kind is openid"))
    }
    if value["operations"] != nil, value["allowedOrigins"] == nil {
      problems.append(Problem("/allowedOrigins", "is missing, and there are operations"))
    }
    if value["issuer"] == nil, value["issuerTemplate"] == nil {
      problems.append(Problem("/issuerTemplate", "is missing, and so is issuer"))
    }
    if value["discovery"]?.bool == false {
      for name in ["authorization", "token"] where value["endpoints"]?[name] == nil {
        problems.append(Problem("/endpoints/\(name)", "is missing, and there is no discovery"))
      }
    }
    if (value["refresh"]?["reuse"]?.string == "grace") != (value["refresh"]?["graceSeconds"] != nil) {
      problems.append(Problem("/refresh/graceSeconds", "goes with the reuse grace"))
    }
    for parameter in value["browserParameters"]?.elements?.compactMap(\.string) ?? []
    where value["authorizationParameters"]?[parameter] == nil {
      problems.append(Problem("/browserParameters", "names \(parameter), which is no authorization parameter"))
    }
    return problems
  }
}
