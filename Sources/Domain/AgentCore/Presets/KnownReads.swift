public import AgentModel

/// What reads at a service where a GET may also change something: the requests that the catalogue knows as reads
/// (docs/offline.md, Requests).
public struct KnownReads: Hashable, Sendable {
  private let paths: [RequestRule.Pattern]
  /// A pattern is of a path alone, and the origin of a service may be its customer's.
  private static let anyOrigin = "https://service.invalid"

  /// Nil for a service of which the catalogue knows no GET that changes something.
  ///
  /// - Parameter preset: the service's name in the catalogue.
  public init?(of preset: String) {
    guard let entry = CatalogueEntry.named(preset) else { return nil }
    let got = entry.operations.filter { $0.methods.contains("GET") }
    guard got.contains(where: { $0.kind != .read }) else { return nil }
    // Some services take a method's name in any case: only the spelling of the catalogue is known.
    paths = got.filter { $0.kind == .read }.compactMap { try? RequestRule.Pattern($0.path, at: Self.anyOrigin) }
  }

  public func contains(_ url: HTTPURL) -> Bool {
    guard let path = try? RequestPath(url) else { return false }
    return paths.contains { $0.covers(path) }
  }
}
