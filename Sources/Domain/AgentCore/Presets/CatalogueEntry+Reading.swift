internal import AgentModel
internal import JSONRPC

/// Reads the text of an entry, whose form the tests check (`CatalogueTests`): nil for any other.
extension CatalogueEntry {
  init?(reading text: StaticString) {
    let bytes = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    var tape = JSONTape()
    do throws(JSONScanner.Failure) { try JSONScanner.scan(bytes, onto: &tape) } catch { return nil }
    guard let entry = tape.withRoot(of: bytes, { CatalogueEntry($0) }) else { return nil }
    self = entry
  }

  private init?(_ node: JSONNode) {
    guard let name = node["name"]?.string, let title = node["title"]?.string,
      let kind = AccountKind(rawValue: node["kind"]?.string ?? AccountKind.openid.rawValue)
    else { return nil }
    self.name = name
    self.title = title
    self.kind = kind
    categories = Self.texts(node["categories"])
    allowedOrigins = Self.texts(node["allowedOrigins"])
    environment = Self.texts(node["environment"])
    username = node["username"]?.string
    page = node["page"]?.string
    scopes = (node["scopeMeanings"].map { Array($0.members) } ?? []).compactMap { name, meaning in
      guard let name = name.string, let meaning = meaning.string else { return nil }
      return Scope(name: name, meaning: meaning)
    }.sorted { $0.name < $1.name }
    let origin = allowedOrigins.first
    operations = (node["operations"].map { Array($0.elements) } ?? []).compactMap { Operation($0, usually: origin) }
    if kind == .secret {
      guard let secret = SecretSettings(node) else { return nil }
      self.secret = secret
    }
  }

  fileprivate static func texts(_ node: JSONNode?) -> [String] {
    node.map { $0.elements.compactMap(\.string) } ?? []
  }
}

extension CatalogueEntry.Operation {
  fileprivate init?(_ node: JSONNode, usually origin: String?) {
    guard let name = node["name"]?.string, let path = node["path"]?.string,
      let kind = node["kind"]?.string.flatMap(Kind.init(rawValue:)),
      let origin = node["origin"]?.string ?? origin
    else { return nil }
    self.init(
      name: name, kind: kind, methods: CatalogueEntry.texts(node["methods"]), path: path, origin: origin)
  }
}
