public import AgentModel
public import JSONRPC

/// How servers are reached and trusted by the requests of programs beside the agent: `trust` in the answer of `provider.get`,
/// for those with a provider's token, and of `agent.status`, for those without. What the administrator enforces is in it.
public struct ServerTrust: Hashable, Sendable {
  /// What counts for every server.
  private var settings: TrustSettings
  private var pins: [String: [String]]

  /// From the answer of `agent.status`, which names nothing where nothing is configured.
  public init?(inStatus status: JSONNode) {
    (settings, pins) = (TrustSettings(), [:])
    guard let node = status["trust"] else { return }
    guard let trust = ServerTrust(node) else { return nil }
    self = trust
  }

  /// Nil also for an answer that has something of another kind: no pin must pass for none.
  public init?(_ node: JSONNode?) {
    guard let node, node.kind == .object else { return nil }
    var (settings, pins) = (TrustSettings(), [String: [String]]())
    for (name, value) in node.members {
      switch name.string {
      case "caFile":
        guard let file = value.string else { return nil }
        settings.authorities.file = file
      case "caDirectory":
        guard let directory = value.string else { return nil }
        settings.authorities.directory = directory
      case "proxy":
        guard let proxy = value.string else { return nil }
        settings.proxy = proxy
      case "noProxy":
        guard let exceptions = Self.texts(value) else { return nil }
        settings.noProxy = exceptions
      case "pins":
        guard value.kind == .object else { return nil }
        for (host, list) in value.members {
          guard let host = host.string, let texts = Self.texts(list), !texts.isEmpty else { return nil }
          pins[host.lowercased()] = texts
        }
      default: break
      }
    }
    (self.settings, self.pins) = (settings, pins)
  }

  /// What counts for a request to `url`.
  ///
  /// - Parameter own: what the program was told of this server: its authorities count where the agent names none, and so
  ///   does its proxy.
  public func settings(for url: HTTPURL, elsewhere own: TrustSettings = TrustSettings()) -> TrustSettings {
    var settings = settings
    settings.pins = pins[url.host] ?? []
    if settings.authorities == CertificateAuthorities() { settings.authorities = own.authorities }
    settings.proxy = settings.proxy ?? own.proxy
    return settings
  }

  private static func texts(_ node: JSONNode) -> [String]? {
    guard node.kind == .array else { return nil }
    let texts = node.elements.map(\.string)
    return texts.contains(nil) ? nil : texts.compactMap(\.self)
  }
}
