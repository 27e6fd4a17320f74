package import AgentCore
package import AgentModel
internal import AgentStore
internal import JSONRPC
internal import SecretJSON

/// The durable state of a grant's `TokenMachine`. A pause is stored by the wall clock and with its length, since an
/// instant of the boot clock means nothing after a reboot.
package struct GrantMemory: Sendable, Equatable {
  package var health: TokenMachine.Health
  var interactions: [TokenKey: String?] = [:]
  @Rare var patience: Patience? = nil

  struct Patience: Sendable, Equatable {
    var until: Timestamp
    var length: Milliseconds
    /// The part of `length` that holds back callers.
    var callers: Milliseconds
    /// Nil after a refusal that the agent can't explain (`.unexplained`); `status` is its HTTP status.
    var reason: String?
    var status: Int
    var failures: Int
    var unexplained: Int

    var failure: ExchangeFailure {
      reason.map { .transient($0, retryAfter: nil) } ?? .unexplained(status: status)
    }
  }

  package init(health: TokenMachine.Health) { self.health = health }

  package init(_ memory: TokenMemory, boot: BootInstant, wall: Timestamp) {
    health = memory.health
    interactions = memory.interactions
    guard let patience = memory.patience, boot < patience.until else { return }
    let length = patience.until - boot
    var held = Patience(
      until: wall + length, length: length, callers: max(.zero, patience.callersUntil - boot), reason: nil, status: 0,
      failures: patience.failures,
      unexplained: patience.unexplained)
    switch patience.failure {
    case .unexplained(let status, _): held.status = status
    default: held.reason = patience.failure.reason ?? "transient"
    }
    self.patience = held
  }

  /// The machine's memory at this moment. A changed wall clock makes no pause longer than it was.
  package func memory(boot: BootInstant, wall: Timestamp) -> TokenMemory {
    var memory = TokenMemory(health: health, interactions: interactions)
    if let patience {
      let left = max(.zero, min(patience.until - wall, patience.length))
      memory.patience = TokenMemory.Patience(
        until: boot + left, callersUntil: boot + max(.zero, left - (patience.length - patience.callers)),
        failure: patience.failure, failures: patience.failures, unexplained: patience.unexplained)
    }
    return memory
  }

  /// The failure that the pause is for, at about the time when it was written, on the provider's clock. A wall clock that
  /// was set back since does not know when that was: then it is told as of now, as its pause is counted again.
  package func lastFailure(wall: Timestamp, providerTime: Timestamp) -> LastFailure? {
    guard let patience else { return nil }
    let failure = patience.failure
    let ago = max(.zero, wall - patience.until + patience.length)
    return LastFailure(kind: failure.kind, at: providerTime + (.zero - ago), reason: failure.reason)
  }

  // MARK: record

  func write(to writer: inout JSONWriter) {
    let (word, detail) = health.words
    writer.member("health", word)
    writer.member("healthDetail", detail)
    if !interactions.isEmpty {
      writer.key("interactions")
      writer.beginArray()
      for (key, claims) in interactions.sorted(by: { $0.key.order < $1.key.order }) {
        writer.beginObject()
        key.writeMembers(to: &writer)
        writer.member("claims", claims)
        writer.endObject()
      }
      writer.endArray()
    }
    guard let patience else { return }
    writer.key("patience")
    writer.beginObject()
    writer.member("until", patience.until.milliseconds)
    writer.member("length", patience.length.count)
    writer.member("callers", patience.callers.count)
    writer.member("reason", patience.reason)
    writer.member("status", Int64(patience.status))
    writer.member("failures", Int64(patience.failures))
    writer.member("unexplained", Int64(patience.unexplained))
    writer.endObject()
  }

  init?(_ node: JSONNode) {
    guard let word = node["health"]?.string,
      let health = TokenMachine.Health(word: word, detail: node["healthDetail"]?.string)
    else { return nil }
    self.health = health
    for entry in node["interactions"].map({ Array($0.elements) }) ?? [] {
      interactions[TokenKey(entry)] = .some(entry["claims"]?.string)
    }
    if let node = node["patience"], let until = node["until"]?.timestamp, let length = node["length"]?.integer {
      patience = Patience(
        until: until, length: Milliseconds(length), callers: Milliseconds(node["callers"]?.integer ?? length),
        reason: node["reason"]?.string,
        status: Int(node["status"]?.integer ?? 0), failures: Int(node["failures"]?.integer ?? 1),
        unexplained: Int(node["unexplained"]?.integer ?? 0))
    }
  }
}

extension TokenKey {
  init(_ node: JSONNode) {
    self.init(resource: node["resource"]?.string, scopes: node["scopes"]?.strings.map { ScopeSet($0) })
  }

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("resource", resource)
    if let scopes { writer.member("scopes", scopes.names) }
  }

  /// Records of equal content are equal.
  fileprivate var order: String { (resource ?? "") + "\n" + (scopes?.spaceDelimited ?? "") }
}

extension TokenMachine.Health {
  var words: (String, String?) {
    switch self {
    case .ok: ("ok", nil)
    case .unknown: ("unknown", nil)
    case .reauthenticate(let reason): ("reauthenticate", reason)
    case .locked: ("locked", nil)
    case .misconfigured(let error): ("misconfigured", error)
    case .signedOut: ("signedOut", nil)
    }
  }

  init?(word: String, detail: String?) {
    switch word {
    case "ok": self = .ok
    case "unknown": self = .unknown
    case "reauthenticate": self = .reauthenticate(reason: detail ?? "refused")
    case "locked": self = .locked
    case "misconfigured": self = .misconfigured(detail ?? "unknown")
    case "signedOut": self = .signedOut
    default: return nil
    }
  }
}
