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

  /// The failure that says which of these origins the provider does not list, with the command that adds them; nil if
  /// it lists them all.
  ///
  /// - Parameter outcome: what was not done, behind "so".
  public func explaining(_ failure: CommandFailure, of wanted: [String], so outcome: String) -> CommandFailure? {
    let missing = wanted.filter { !origins.contains($0) }
    guard !missing.isEmpty else { return nil }
    var told = failure
    told.message = "The provider \(provider) does not list \(missing.joined(separator: ", ")), so \(outcome)."
    let (servers, them) = missing.count == 1 ? ("that server", "it") : ("these servers", "them")
    told.hints = ["If \(servers) may get its tokens, add \(them): `\(command(addingOrigins: missing))`."]
    return told
  }

  /// Nil if the provider can't be read.
  public init?(of provider: String, via agent: inout AgentConnection) {
    let read = try? agent.call("provider.get", params: { $0.member("provider", provider) }) { Self($0, of: provider) }
    guard let read else { return nil }
    self = read
  }

  public func command(addingOrigin origin: String) -> String { command(addingOrigins: [origin]) }

  private func command(addingOrigins added: [String]) -> String {
    command(setting: "--allowed-origin", to: origins.filter { !added.contains($0) } + added)
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
