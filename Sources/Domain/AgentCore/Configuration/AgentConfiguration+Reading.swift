internal import AgentModel
internal import JSONRPC

extension AgentConfiguration {
  /// Reads a file strictly: an unknown member is a problem.
  ///
  /// - Throws: every problem of the file.
  public init(parsing text: [UInt8]) throws(ConfigurationProblems) {
    self = try ConfigurationReader.read(text) { $0.configuration($1).defaults }
  }
}

extension AdministratorConfiguration {
  /// Reads the administrator's file as strictly as the person's.
  ///
  /// - Throws: every problem of the file.
  public init(parsing text: [UInt8]) throws(ConfigurationProblems) {
    self = try ConfigurationReader.read(text) { $0.configuration($1, mayEnforce: true) }
  }
}

extension ConfigurationProblem {
  init(at offset: Int, in bytes: UnsafeRawBufferPointer, _ text: String) {
    let place = JSONTextPosition(ofOffset: offset, in: bytes)
    self.init(line: place.line, column: place.column, text: text)
  }
}

private struct ConfigurationReader {
  let bytes: UnsafeRawBufferPointer
  private(set) var problems: [ConfigurationProblem] = []

  private init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  static func read<Configuration>(
    _ text: [UInt8], _ read: (inout ConfigurationReader, JSONNode) -> Configuration
  ) throws(ConfigurationProblems) -> Configuration {
    try text.withUnsafeBufferPointer { (text) throws(ConfigurationProblems) -> Configuration in
      let bytes = UnsafeRawBufferPointer(text)
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else {
        let place = JSONScanner.failurePosition(in: bytes) ?? bytes.count
        throw ConfigurationProblems(list: [.init(at: place, in: bytes, "This is not JSON (RFC 8259).")])
      }
      return try tape.withRoot(of: bytes) { (root) throws(ConfigurationProblems) -> Configuration in
        var reader = ConfigurationReader(bytes: bytes)
        let configuration = read(&reader, root)
        guard reader.problems.isEmpty else {
          throw ConfigurationProblems(list: reader.problems.sorted { ($0.line, $0.column) < ($1.line, $1.column) })
        }
        return configuration
      }
    }
  }

  /// `mayEnforce`: the member `enforced` is known, too.
  mutating func configuration(_ root: JSONNode, mayEnforce: Bool = false) -> AdministratorConfiguration {
    var (found, enforced) = (AgentConfiguration(), AgentConfiguration())
    let known = [
      "caFile", "proxy", "clientIdMetadataDocument", "lockAfterSeconds", "lockOn", "limits", "audit", "policySource",
      "signOut",
    ]
    for (name, value) in members(of: root, known + (mayEnforce ? ["enforced"] : [])) {
      switch name {
      case "enforced": enforced = configuration(value).defaults
      case "caFile": found.caFile = text(value, 4095, "an absolute path") { $0.hasPrefix("/") && $0 != "/" }
      case "proxy":
        found.proxy = text(
          value, 2048, "http, https, socks5 or socks5h, ://, a host and a port; or none", where: ProxyAddress.isValid)
      case "clientIdMetadataDocument":
        found.clientIDMetadataDocument = text(
          value, 512, "an https URL with a path, without a query, a fragment, a user name and dot segments",
          where: ClientIDMetadataDocument.isURL)
      case "lockAfterSeconds": found.lockAfter = integer(value, 1...31_536_000).map { .seconds($0) }
      case "lockOn": found.lockOn = lockEvents(value)
      case "audit": found.audit = audit(value)
      case "policySource": found.policySource = policySource(value)
      case "signOut":
        found.signOut = value.string.flatMap { AgentConfiguration.SignOutRule(rawValue: $0) }
        if found.signOut == nil { add(value, "This must be asked or hard.") }
      default: limits(value, &found)
      }
    }
    return AdministratorConfiguration(defaults: found, enforced: enforced)
  }

  private mutating func limits(_ node: JSONNode, _ found: inout AgentConfiguration) {
    for (name, value) in members(of: node, ["connections", "requestsInFlight"]) {
      switch name {
      case "connections": found.connections = integer(value, 8...4096).map(Int.init)
      default: found.requestsInFlight = integer(value, 1...1024).map(Int.init)
      }
    }
  }

  private mutating func audit(_ node: JSONNode) -> AuditSettings {
    var found = AuditSettings()
    for (name, value) in members(of: node, ["names", "export"]) {
      switch name {
      case "names":
        found.names = value.bool
        if value.bool == nil { add(value, "This must be true or false.") }
      default: found.destinations = destinations(value)
      }
    }
    return found
  }

  private mutating func destinations(_ node: JSONNode) -> [AuditDestination] {
    guard node.kind == .array, node.elements.reduce(0, { count, _ in count + 1 }) <= AuditSettings.mostDestinations
    else {
      add(node, "This must be a list of at most \(AuditSettings.mostDestinations) destinations.")
      return []
    }
    var found: [AuditDestination] = []
    for element in node.elements {
      guard let destination = destination(element) else { continue }
      if found.contains(where: { $0.name == destination.name }) {
        add(element, "Another destination is named `\(destination.name)`: give each a `name` of its own.")
      }
      found.append(destination)
    }
    return found
  }

  private mutating func destination(_ node: JSONNode) -> AuditDestination? {
    let kind = node.kind == .object ? node["to"]?.string.flatMap(AuditDestination.Kind.init) : nil
    var known = ["to", "name"]
    switch kind {
    case .journald, .syslog: known += ["socket"]
    case .otlp: known += ["url", "caFile", "headersFile", "account"]
    case nil:
      if node.kind == .object { add(node["to"] ?? node, "`to` must be `journald`, `syslog` or `otlp`.") }
      known += ["socket", "url", "caFile", "headersFile", "account"]
    }
    var found = AuditDestination(kind ?? .journald)
    for (name, value) in members(of: node, known) {
      switch name {
      case "to": break
      case "name":
        let what = "1 to 32 lower-case letters, digits, `_` and `-`"
        found.name = text(value, 32, what, where: AuditDestination.isName) ?? found.name
      case "url":
        found.url = text(value, 2048, "an https URL, or an http URL of this machine") {
          AuditDestination.endpoint($0) != nil
        }
      case "account": found.account = text(value, 128, "the alias or the id of an account") { !$0.isEmpty }
      default:
        let path = text(value, 4095, "an absolute path") { $0.hasPrefix("/") && $0 != "/" }
        switch name {
        case "socket": found.socket = path
        case "caFile": found.caFile = path
        default: found.headersFile = path
        }
      }
    }
    if kind == .otlp, node["url"] == nil { add(node, "`otlp` needs a `url`.") }
    return kind == nil ? nil : found
  }

  /// Nil only with a problem.
  private mutating func policySource(_ node: JSONNode) -> PolicySource? {
    var (url, key): (HTTPURL?, MinisignKey?)
    var (interval, maxAge) = (PolicySource.defaultInterval, PolicySource.defaultMaxAge)
    let found = members(of: node, ["url", "publicKey", "intervalSeconds", "maxAgeSeconds"])
    for (name, value) in found {
      switch name {
      case "url":
        url = value.string.flatMap { PolicySource.url($0) }
        if url == nil { add(value, "This must be an https URL with a path, without a query and a user name.") }
      case "publicKey":
        key = value.string.flatMap { MinisignKey($0) }
        if key == nil { add(value, "This must be a public key as `minisign -G` prints it: `RWQ` and 53 characters.") }
      case "intervalSeconds":
        interval = integer(value, 1...PolicySource.longestSeconds).map { .seconds($0) } ?? interval
      default: maxAge = integer(value, 1...PolicySource.longestSeconds).map { .seconds($0) } ?? maxAge
      }
    }
    guard node.kind == .object else { return nil }
    for name in ["url", "publicKey"] where !found.contains(where: { $0.name == name }) {
      add(node, "The member `\(name)` is missing.")
    }
    guard let url, let key else { return nil }
    return PolicySource(url: url, publicKey: key, interval: interval, maxAge: maxAge)
  }

  private mutating func lockEvents(_ node: JSONNode) -> Set<AgentConfiguration.LockEvent> {
    guard node.kind == .array else {
      add(node, "This must be a list of `sleep` and `screen`.")
      return []
    }
    var events: Set<AgentConfiguration.LockEvent> = []
    for element in node.elements {
      guard let event = element.string.flatMap(AgentConfiguration.LockEvent.init) else {
        add(element, "This must be `sleep` or `screen`.")
        continue
      }
      if !events.insert(event).inserted { add(element, "This is here twice.") }
    }
    return events
  }

  /// The known members; unknown and repeated ones are problems.
  private mutating func members(of node: JSONNode, _ known: [String]) -> [(name: String, value: JSONNode)] {
    guard node.kind == .object else {
      add(node, "This must be an object.")
      return []
    }
    var found: [(name: String, value: JSONNode)] = []
    for (key, value) in node.members {
      let name = key.string ?? ""
      if !known.contains(name) {
        add(key, "There is no such member here. Known: \(known.joined(separator: ", ")).")
      } else if found.contains(where: { $0.name == name }) {
        add(key, "This member is here twice.")
      } else {
        found.append((name, value))
      }
    }
    return found
  }

  private mutating func text(
    _ node: JSONNode, _ most: Int, _ what: String, where isGood: (String) -> Bool
  ) -> String? {
    guard let text = node.string, text.unicodeScalars.count <= most, isGood(text) else {
      add(node, "This must be \(what).")
      return nil
    }
    return text
  }

  private mutating func integer(_ node: JSONNode, _ range: ClosedRange<Int64>) -> Int64? {
    guard let value = node.integer, range.contains(value) else {
      add(node, "This must be a whole number from \(range.lowerBound) to \(range.upperBound).")
      return nil
    }
    return value
  }

  private mutating func add(_ node: JSONNode, _ text: String) {
    problems.append(.init(at: node.raw.baseAddress! - bytes.baseAddress!, in: bytes, text))
  }
}
