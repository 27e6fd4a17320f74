internal import JSONRPC

/// Whom a request waits for, as its parameters tell: a server, a provider, or the provider of an account. Under a grant a
/// request to a server may wait for a person's yes first, of which the agent says nothing.
struct WaitedFor {
  private let url, provider, account: String?
  private let isPrompt: Bool

  /// The time for the agent to say whose account it is.
  private static let patienceMilliseconds: Int32 = 300

  init(_ params: JSONNode) {
    // The issuer is asked when a provider is added.
    url = params["url"]?.string ?? params["issuer"]?.string
    provider = params["provider"]?.string
    account = params["account"]?.string
    isPrompt = params["prompt"]?.isText("pinentry") == true || params["method"]?.isText("pinentry") == true
  }

  init(account: String) {
    (url, provider, isPrompt) = (nil, nil, false)
    self.account = account
  }

  /// Nil if it is the agent itself; empty for a question of pinentry, which the person sees, perhaps on this terminal.
  var name: String? {
    if isPrompt { return "" }
    return url.flatMap(Self.host).map { $0 + Self.approval } ?? provider ?? account.flatMap(Self.provider)
  }

  private static var approval: String {
    Environment.value("LANYARD_GRANT_FILE") == nil ? "" : " or a yes (`lanyard approvals`)"
  }

  /// Without what stands before `@`, which may be a secret.
  private static func host(of url: String) -> String? {
    let parts = url.split(separator: "/", maxSplits: 2)
    guard parts.count > 1, parts[0].last == ":" else { return nil }
    let authority = parts[1].prefix { $0 != "?" && $0 != "#" }
    return authority.split(separator: "@", omittingEmptySubsequences: false).last.map { $0.lowercased() }
  }

  private static func provider(of account: String) -> String? {
    let agent = try? Agent.connect(
      mayStart: false, tellsWaiting: false, patienceMilliseconds: patienceMilliseconds)
    guard var agent else { return nil }
    return try? agent.call("account.get", params: { $0.member("account", account) }) { $0["provider"]?.string }
  }
}

/// The parameters of a request, written anew to be read: nothing keeps the request, which may hold a secret.
enum WrittenParams {
  /// Nil if they are no JSON.
  static func read<Result>(
    _ params: (inout JSONWriter) -> Void, _ body: (JSONNode) -> Result?
  ) -> Result? {
    var writer = JSONWriter()
    writer.beginObject()
    params(&writer)
    writer.endObject()
    return writer.withBytes { bytes in
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else { return nil }
      return tape.withRoot(of: bytes) { body($0) }
    }
  }
}
