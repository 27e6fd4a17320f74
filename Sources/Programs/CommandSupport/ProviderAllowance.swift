import CommandSupport
import JSONRPC

/// The origins that may get the tokens of a provider. `lanyard provider update` sets the whole list, so the command that
/// lists one more names the others, too.
struct AllowedOrigins {
  private let provider: String
  private let listed: [String]

  /// Nil if the provider can't be read.
  init?(of provider: String, via agent: inout AgentConnection) {
    let listed = try? agent.call("provider.get", params: { $0.member("provider", provider) }) { result in
      (result["provider"] ?? result)["allowedOrigins"].map { $0.elements.compactMap(\.string) } ?? []
    }
    guard let listed else { return nil }
    (self.provider, self.listed) = (provider, listed)
  }

  func command(adding origin: String) -> String {
    let options = (listed.filter { $0 != origin } + [origin]).map { "--allowed-origin \(ErrorMessages.shellWord($0))" }
    return "lanyard provider update \(provider) \(options.joined(separator: " "))"
  }

  /// `https://api.example` of `https://api.example/orders`; nil for what is no URL.
  static func origin(of url: String) -> String? {
    let parts = url.split(separator: "/", maxSplits: 2)
    guard parts.count > 1, parts[0].last == ":" else { return nil }
    return "\(parts[0])//\(parts[1].prefix { $0 != "?" && $0 != "#" })"
  }
}
