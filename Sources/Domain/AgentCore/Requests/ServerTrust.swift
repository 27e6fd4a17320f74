public import AgentModel
public import JSONRPC

/// How servers are reached and trusted by requests with a provider's tokens: `trust` in the answer of `provider.get`, for
/// programs that send a token by themselves. What the administrator enforces is in it.
public struct ServerTrust: Hashable, Sendable {
  /// What counts for every server.
  private let settings: TrustSettings
  private let pins: [String: [String]]

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
  /// - Parameters:
  ///   - authorities: a file that the person named for this server: it counts where the agent names none.
  ///   - proxy: a proxy that the person named for this server, likewise.
  public func settings(for url: HTTPURL, authorities: String? = nil, proxy: String? = nil) -> TrustSettings {
    var settings = settings
    settings.pins = pins[url.host] ?? []
    if settings.authorities == CertificateAuthorities() { settings.authorities.file = authorities }
    settings.proxy = settings.proxy ?? proxy
    return settings
  }

  private static func texts(_ node: JSONNode) -> [String]? {
    guard node.kind == .array else { return nil }
    let texts = node.elements.map(\.string)
    return texts.contains(nil) ? nil : texts.compactMap(\.self)
  }
}
