public import JSONRPC

/// What a provider lists: the origins that may get its tokens, and the names that requests may have. `lanyard provider
/// update` sets a whole list, so the command that adds a member names the others, too.
public struct ProviderAllowance: Sendable {
  public let provider: String
  public let origins: [String]
  public let fields: [String]

  /// - Parameter result: the answer of `provider.get`.
  public init(_ result: JSONNode, of provider: String) {
    let node = result["provider"] ?? result
    self.provider = provider
    origins = node["allowedOrigins"].map { $0.elements.compactMap(\.string) } ?? []
    fields = node["allowedFields"].map { $0.elements.compactMap(\.string) } ?? []
  }

  /// Nil if the provider can't be read.
  public init?(of provider: String, via agent: inout AgentConnection) {
    let read = try? agent.call("provider.get", params: { $0.member("provider", provider) }) { Self($0, of: provider) }
    guard let read else { return nil }
    self = read
  }

  public func command(addingOrigin origin: String) -> String {
    command(setting: "--allowed-origin", to: origins.filter { $0 != origin } + [origin])
  }

  /// Names of header fields are alike in any case.
  public func command(addingFields names: [String]) -> String {
    let added = Set(names.map { $0.lowercased() })
    return command(setting: "--allowed-field", to: fields.filter { !added.contains($0.lowercased()) } + names)
  }

  private func command(setting option: String, to list: [String]) -> String {
    let options = list.map { "\(option) \(ErrorMessages.shellWord($0))" }
    return "lanyard provider update \(ErrorMessages.shellWord(provider)) \(options.joined(separator: " "))"
  }
}
