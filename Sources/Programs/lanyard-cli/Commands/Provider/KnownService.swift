import AgentCore
import AgentModel
import CommandSupport
import JSONRPC

/// A preset with what the catalogue says of it.
struct KnownService {
  let preset: ProviderPreset
  let entry: CatalogueEntry

  private init?(_ preset: ProviderPreset) {
    guard let entry = preset.catalogue else { return nil }
    (self.preset, self.entry) = (preset, entry)
  }

  /// Those that a word finds, the one with that name first; all without a word.
  static func found(by word: String?) throws(CommandFailure) -> [KnownService] {
    let all = ProviderPreset.all.compactMap { KnownService($0) }
    guard let word else { return all }
    let found = all.filter { $0.entry.isFound(by: word) }
    guard found.isEmpty else {
      return found.filter { $0.preset.name == word } + found.filter { $0.preset.name != word }
    }
    let meant = NearMiss.of(word, among: Presets.all).map { ["Did you mean \($0)?"] } ?? []
    throw .usage("There is no preset \(word).", hints: meant + ["`lanyard provider presets` lists them."])
  }

  // MARK: for a person

  /// The name, the command, and what to know before; with `showsAll` scopes and operations, too.
  func lines(columns: Int, showsAll: Bool) -> [String] {
    let facts = preset.kind == .openid ? signInFacts : secretFacts
    var lines = ["\(preset.name): \(preset.title)", "  " + Presets.command(adding: preset.name)]
    for fact in facts + (showsAll ? details : []) {
      lines += Text.lines(fact, columns: columns, first: "  ", next: "    ")
    }
    return lines
  }

  private var signInFacts: [String] {
    var facts: [String] = []
    if preset.issuer == nil, let template = preset.issuerTemplate { facts.append("Issuer: \(template).") }
    facts += ClientRegistration(at: preset)?.facts ?? []
    if preset.needsClientSecret { facts.append("Desktop clients have a secret: --client-secret-file FILE.") }
    if preset.suggestsDevice { facts.append("Sign in with --device: it needs no redirect URI.") }
    if !preset.takesResource { facts.append("Takes no --resource; name the API in the scopes.") }
    for (name, value) in preset.authorizationParameters.sorted(by: { $0.key < $1.key }) {
      facts.append("Sends \(name)=\(value).")
    }
    for (name, meaning) in preset.parameterHints.sorted(by: { $0.key < $1.key }) {
      facts.append("--authorization-parameter \(name)=…: \(meaning).")
    }
    return facts
  }

  private var secretFacts: [String] {
    var facts: [String] = []
    if let page = entry.page { facts.append("Make a key: \(page)") }
    if !entry.environment.isEmpty {
      facts.append("Programs read it from \(entry.environment.joined(separator: ", ")).")
    }
    return facts
  }

  private var details: [String] {
    var facts = entry.scopes.map { "Scope \($0.name): \($0.meaning)" }
    for kind in CatalogueEntry.Operation.Kind.allCases {
      let names = entry.operations.filter { $0.kind == kind }.map(\.name)
      if !names.isEmpty { facts.append("Programs \(kind.rawValue): \(names.joined(separator: ", ")).") }
    }
    return facts
  }

  // MARK: for a program

  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("name", preset.name)
    writer.member("title", preset.title)
    writer.member("kind", preset.kind.rawValue)
    writer.member("categories", entry.categories)
    if preset.kind == .openid { writeSignIn(to: &writer) }
    writer.member("allowedOrigins", entry.allowedOrigins)
    if let secret = entry.secret { secret.write(to: &writer) } else { writer.member("environment", entry.environment) }
    writer.member("username", entry.username)
    writer.member("page", entry.page)
    writer.key("scopes")
    writer.beginObject()
    for scope in entry.scopes {
      writer.key(scope.name)
      writer.string(scope.meaning)
    }
    writer.endObject()
    writer.key("operations")
    writer.beginArray()
    for operation in entry.operations { write(operation, to: &writer) }
    writer.endArray()
    writer.endObject()
  }

  private func writeSignIn(to writer: inout JSONWriter) {
    writer.member("issuer", preset.issuer)
    writer.member("issuerTemplate", preset.issuerTemplate)
    writer.member("redirectHost", preset.redirectHost)
    let flags: [(String, Bool)] = [
      ("comparesRedirectPort", preset.comparesRedirectPort), ("needsClientSecret", preset.needsClientSecret),
      ("suggestsDevice", preset.suggestsDevice), ("takesResource", preset.takesResource),
      ("hasDiscovery", preset.hasDiscovery),
    ]
    for (key, isSo) in flags {
      writer.key(key)
      writer.bool(isSo)
    }
    for (key, parameters) in [
      ("authorizationParameters", preset.authorizationParameters), ("parameterHints", preset.parameterHints),
    ] {
      writer.key(key)
      writer.beginObject()
      for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
        writer.key(name)
        writer.string(value)
      }
      writer.endObject()
    }
  }

  private func write(_ operation: CatalogueEntry.Operation, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("name", operation.name)
    writer.member("kind", operation.kind.rawValue)
    writer.member("methods", operation.methods)
    writer.member("path", operation.path)
    writer.member("origin", operation.origin)
    writer.endObject()
  }
}
