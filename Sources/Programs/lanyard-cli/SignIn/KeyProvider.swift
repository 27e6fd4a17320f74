import AgentCore
import AgentModel
import CommandSupport
import JSONRPC

/// The provider of a key: one that is there, or a service of the catalogue, which is added for it.
struct KeyProvider {
  let info: ProviderInfo
  /// It was added for this key.
  let isAdded: Bool

  /// - Parameters:
  ///   - service: is added where there is no provider.
  ///   - name: of the provider that is added; nil: the service's.
  init(
    _ known: ProviderInfo?, orOf service: CatalogueEntry?, as name: String? = nil, via agent: inout AgentConnection
  ) throws(CommandFailure) {
    if let known {
      (info, isAdded) = (known, false)
    } else if let service {
      let origin = try service.needsOrigin ? Self.origin(of: service) : nil
      info = try agent.call("provider.add") { writer in
        writer.member("name", name ?? service.name)
        writer.member("preset", service.name)
        writer.member("allowedOrigins", ifAny: origin.map { [$0] } ?? [])
      } result: {
        ProviderInfo($0["provider"] ?? $0)
      }
      isAdded = true
    } else {
      throw .notUnderstood
    }
  }

  /// Removes what was added: no account came of it.
  func takeBack(via agent: inout AgentConnection) {
    guard isAdded else { return }
    try? agent.perform("provider.remove") { $0.member("provider", info.name) }
  }

  /// Asks for the customer's own host of a service.
  private static func origin(of service: CatalogueEntry) throws(CommandFailure) -> String {
    let looks = service.allowedOrigins[0]
    guard Terminal.canAsk else {
      throw .usage(
        "Each customer of \(service.title) has a host, and none was named. Nothing was changed.",
        hints: ["Add it first: `\(Presets.command(adding: service.name))`."])
    }
    guard let line = Terminal.ask("Address of your \(service.title), such as \(looks): ") else {
      throw Interruption.failure
    }
    let typed = line.filter { !$0.isWhitespace }
    guard let origin = HTTPURL(typed.contains("://") ? typed : "https://" + typed)?.origin,
      service.filled(at: [origin]) != nil
    else {
      throw .usage(Text.shown("\(typed) is no address of \(service.title): \(looks). Nothing was changed."))
    }
    return origin
  }
}
