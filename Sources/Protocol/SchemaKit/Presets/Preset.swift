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
  /// The schema of a preset's file; nil if it is missing.
  private var presetSchema: Schema? {
    guard let document = documents.first(where: { $0.path == "preset.schema.json" }) else { return nil }
    var reader = SchemaReader()
    return reader.schema(document.value, at: document.path)
  }

  /// The problems of a preset's file: those that `preset.schema.json` finds, members without a source, and what
  /// contradicts itself.
  public func problems(of preset: Preset) -> [Problem] {
    let path = "presets/\(preset.name).json"
    guard let schema = presetSchema else { return [Problem("preset.schema.json", "is missing")] }
    var problems = validate(preset.value, against: schema)
    if preset.value["name"]?.string != preset.name { problems.append(Problem("/name", "is not the file's name")) }
    problems += Self.unsourced(preset.value) + Self.contradictions(preset.value)
    return problems.map { Problem(path + $0.pointer, $0.text) }
  }

  /// Every member has a rule that says where it is from, and no rule is about a member that is not there.
  private static func unsourced(_ value: JSONValue) -> [Problem] {
    let members = Set(value.members?.map(\.name) ?? []).subtracting(["name", "title", "rules"])
    let rules = value["rules"]?.elements ?? []
    let sourced = Set(rules.flatMap { $0["members"]?.elements?.compactMap(\.string) ?? [] })
    return members.subtracting(sourced).sorted().map {
      Problem("".pointer(to: $0), "has no rule that names its source")
    }
      + sourced.subtracting(members).sorted().map { Problem("/rules", "is about \($0), which is not there") }
  }

  private static func contradictions(_ value: JSONValue) -> [Problem] {
    var problems: [Problem] = []
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
