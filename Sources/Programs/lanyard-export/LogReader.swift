internal import AgentCore
internal import AgentModel
internal import AuditExport
internal import CommandSupport
internal import JSONRPC
internal import StreamingHTTP

/// The connection of one thread to the agent: the log, the settings, names of accounts.
final class LogReader {
  private var connection: AgentConnection?
  private let mayStart: Bool

  init(mayStart: Bool) { self.mayStart = mayStart }

  /// Entries of one answer: some hundred kilobytes.
  static let page = 500

  var isConnected: Bool { connection != nil }

  func close() { connection = nil }

  /// Connects, and tells what the agent's configuration says, as the agent holds it. The other calls need this connection:
  /// after another one, the store may be another one.
  func begin() throws(CommandFailure) -> AuditSettings {
    if connection == nil { connection = try Agent.connect(mayStart: mayStart, tellsWaiting: false) }
    return try call("agent.status") { result in
      guard let audit = result["audit"] else { return AuditSettings() }
      let destinations = audit["export"]?.elements.compactMap { AuditDestination($0) }
      return AuditSettings(names: audit["names"]?.bool, destinations: destinations)
    }
  }

  /// Has the agent tell of events: sessions, policies, locking. They say that there may be news.
  func subscribe() throws(CommandFailure) { try call("event.subscribe") { _ in } }

  /// The next entries after a sequence, oldest first.
  func entries(after sequence: Int64, limit: Int = page) throws(CommandFailure) -> [ExportEntry] {
    try call("audit.list") { writer in
      writer.member("after", sequence)
      writer.member("limit", Int64(limit))
    } result: { (result) throws(CommandFailure) in
      guard let entries = result["entries"], entries.kind == .array else { throw CommandFailure.notUnderstood }
      return try entries.elements.map { (node) throws(CommandFailure) in
        guard let entry = ExportEntry(node) else { throw CommandFailure.notUnderstood }
        return entry
      }
    }
  }

  /// Names of the accounts, by id.
  func accounts() throws(CommandFailure) -> [String: AccountNames] {
    try call("account.list") { result in
      var found: [String: AccountNames] = [:]
      for account in result["accounts"]?.elements.map({ $0 }) ?? [] {
        guard let id = account["id"]?.string else { continue }
        found[id] = AccountNames(
          alias: account["alias"]?.string, subject: account["subject"]?.string,
          displayName: account["displayName"]?.string, email: account["email"]?.string,
          tenant: account["tenant"]?.string)
      }
      return found
    }
  }

  /// An access token of an account for a request, as the value of the field `Authorization`, and how its server is reached and
  /// trusted: as the agent says, and by `own` where that names none.
  ///
  /// - Throws: a failure also where the provider's `allowedOrigins` do not list the origin. `request.authorize` would write
  ///   an entry to the log for each batch of entries.
  func authorization(
    of account: String, at url: HTTPURL, elsewhere own: TrustSettings
  ) throws(CommandFailure) -> (WipedBytes, TrustSettings) {
    let origin = url.origin
    let provider = try call("account.get", params: { $0.member("account", account) }) { $0["provider"]?.string ?? "" }
    let (allowance, trust) = try call("provider.get", params: { $0.member("provider", provider) }) {
      (result) throws(CommandFailure) in
      guard let trust = ServerTrust(result["trust"]) else { throw CommandFailure.notUnderstood }
      return (ProviderAllowance(result, of: provider), trust)
    }
    guard RequestTarget.origins(allowance.origins).contains(origin) else {
      throw CommandFailure(
        .denied, name: "originNotAllowed",
        "\(origin) is not among the allowed origins of \(provider), so it gets no token of \(account): "
          + "`\(allowance.command(addingOrigin: origin))` allows it.")
    }
    let token = try call("token.get") { writer in
      writer.member("account", account)
    } result: { (result) throws(CommandFailure) in
      guard let token = result["accessToken"], token.kind == .string else { throw CommandFailure.notUnderstood }
      if let type = result["tokenType"]?.string, type.lowercased() != "bearer" {
        throw CommandFailure(
          .other, name: "boundToken",
          "The tokens of this account are bound to a key, and a collector takes none of these.")
      }
      let value = WipedBytes("Bearer ")
      value.append(capacity: token.textCapacity) { token.copyText(into: $0) }
      return value
    }
    return (token, trust.settings(for: url, elsewhere: own))
  }

  /// How a server is reached and trusted by a request without an account's token: as `authorization` says.
  func trust(for url: HTTPURL, elsewhere own: TrustSettings) throws(CommandFailure) -> TrustSettings {
    try call("agent.status") { (result) throws(CommandFailure) in
      guard let trust = ServerTrust(inStatus: result) else { throw CommandFailure.notUnderstood }
      return trust.settings(for: url, elsewhere: own)
    }
  }

  private func call<Result>(
    _ method: String, params: (inout JSONWriter) -> Void = { _ in },
    result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    do throws(CommandFailure) {
      guard connection != nil else { throw Self.notConnected }
      return try connection!.call(method, params: params, result: result)
    } catch {
      if error.status == .noAgent || error.name == "shuttingDown" { connection = nil }
      throw error
    }
  }

  static let notConnected = CommandFailure(.noAgent, name: "wentAway", "The agent ended.")

  /// Waits for an event, for another descriptor, or for the time. Events say no more than that there may be news.
  func wait(milliseconds: Int64, orReadable other: Int32) throws(CommandFailure) {
    do throws(CommandFailure) {
      let wakeup = try connection?.wait(
        interruption: nil, milliseconds: Int32(min(milliseconds, 3_600_000)), orReadable: other)
      guard case .bytes = wakeup else { return }
      while try connection?.event({ (_) throws(CommandFailure) in true }) ?? nil != nil {}
    } catch {
      connection = nil
      throw error
    }
  }
}

extension AuditDestination {
  /// From the answer of `agent.status`.
  init?(_ node: JSONNode) {
    guard let kind = node["to"]?.string.flatMap(Kind.init), let name = node["name"]?.string, Self.isName(name) else {
      return nil
    }
    self.init(kind, name: name)
    socket = node["socket"]?.string
    url = node["url"]?.string
    caFile = node["caFile"]?.string
    headersFile = node["headersFile"]?.string
    account = node["account"]?.string
  }
}
