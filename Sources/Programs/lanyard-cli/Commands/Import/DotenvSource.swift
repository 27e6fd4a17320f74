import AgentCore
import AgentModel
import CommandSupport

/// `.env`: keys that the catalogue, or a provider of the person's own, knows by the names of their variables.
struct DotenvSource: ImportSource {
  let program: String
  private let path: String
  private let common: CommonOptions

  init(_ request: ImportRequest) {
    path = request.file ?? ".env"
    program = AgentPaths.file(of: path)
    common = request.common
  }

  func entries() throws(CommandFailure) -> [ImportEntry] {
    let store = try StoreFile.require(path)
    let variables = DotenvFile(store.contents).variables
    guard !variables.isEmpty else { return [] }
    var agent = try common.connect()
    let providers = try ProviderInfo.all(via: &agent)
    let owners = Self.owners(providers)
    let found = variables.filter { owners[$0.name] != nil }
    guard !found.isEmpty else { return [] }
    store.warnOfReaders()
    var entries: [ImportEntry] = []
    var isTaken = Set<String>()
    for variable in found where !isTaken.contains(variable.name) {
      guard let owner = owners[variable.name] else { continue }
      // One key may stand in several variables of its service.
      let same = found.filter { $0.value == variable.value && owners[$0.name]?.isSame(as: owner) == true }
      isTaken.formUnion(same.map(\.name))
      entries.append(entry(of: owner, in: same, providers))
    }
    return entries.named()
  }

  /// Who gave a key, by the variables in which programs look for it. The catalogue comes first: a key of a service goes to
  /// no other server.
  private static func owners(_ providers: [ProviderInfo]) -> [String: ImportEntry.KeyOwner] {
    let services = CatalogueEntry.all.filter { $0.kind == .secret }.flatMap { service in
      service.environment.map { ($0, ImportEntry.KeyOwner.service(service)) }
    }
    let own = providers.filter { $0.kind == "secret" }.flatMap { provider in
      provider.environment.map { ($0, ImportEntry.KeyOwner.provider(provider)) }
    }
    return Dictionary(services + own, uniquingKeysWith: { first, _ in first })
  }

  private func entry(
    of owner: ImportEntry.KeyOwner, in variables: [DotenvFile.Variable], _ providers: [ProviderInfo]
  ) -> ImportEntry {
    var entry = ImportEntry(name: variables[0].name)
    entry.place = path
    let key = ImportEntry.ServiceKey(
      owner: owner, secret: variables[0].value, variables: variables.map(\.name),
      lines: variables.flatMap(\.lines).sorted())
    let provider = owner.provider(among: providers)
    entry.server = provider?.issuer ?? owner.service?.allowedOrigins.first
    if variables[0].refersToOthers {
      entry.lack = "its value is made of other variables"
    } else if variables[0].isBroken {
      entry.lack = "its value has several lines"
    } else if let service = owner.service, service.needsOrigin, provider == nil {
      entry.lack = "each customer of \(service.title) has a host"
      entry.advice = ["Add it first: `\(Presets.command(adding: service.name))`."]
    } else if owner.needsUsername {
      entry.lack = "a user name goes with it"
      entry.advice = ["Give both: `lanyard login \(provider?.name ?? owner.name) --username NAME`."]
    } else {
      entry.key = key
    }
    return entry
  }

  func remove(_ entry: ImportEntry) throws(CommandFailure) -> String {
    guard let key = entry.key else { throw .notUnderstood }
    let store = try StoreFile.require(entry.place)
    let found = DotenvFile(store.contents).variables.filter { key.variables.contains($0.name) }
    guard found.count == key.variables.count, found.allSatisfy({ $0.value == key.secret }) else {
      throw store.unchanged("the key in it has changed meanwhile")
    }
    let rest = HeldBytes(capacity: store.contents.count)
    var kept = 0
    for range in found.flatMap(\.ranges).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      store.contents.part(kept..<range.lowerBound).withBytes { rest.append($0) }
      kept = range.upperBound
    }
    store.contents.part(kept..<store.contents.count).withBytes { rest.append($0) }
    try store.replace(by: rest)
    return "\(key.place) \(key.lines.count == 1 ? "is" : "are") cut out of \(store.path)"
  }

  func leftover(of entry: ImportEntry) -> String? {
    guard let key = entry.key else { return nil }
    let names = key.variables.joined(separator: ", ")
    return "\(key.place) of \(path) can go: \(names). `--remove` cuts \(key.lines.count == 1 ? "it" : "them") out."
  }

  func warning(afterTaking count: Int) -> String {
    "Programs get \(count == 1 ? "the key" : "the keys") in the same variables from Lanyard:"
  }

  func switchOver(to account: String) -> [String] { ["`lanyard exec \(account) -- COMMAND`"] }
}

extension ImportEntry.ServiceKey {
  /// The lines for a person.
  fileprivate var place: String {
    lines.count == 1 ? "Line \(lines[0])" : "Lines \(lines.map(String.init).joined(separator: ", "))"
  }
}

extension ImportEntry.KeyOwner {
  /// HTTP Basic needs a name that nothing tells.
  fileprivate var needsUsername: Bool {
    let (placement, username) =
      switch self {
      case .service(let service): (service.secret?.placement, service.username)
      case .provider(let provider): (provider.placement, provider.username)
      }
    guard case .basic(nil)? = placement else { return false }
    return username == nil
  }
}
