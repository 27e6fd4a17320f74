internal import AgentProtocol

/// The methods that are served, by their names: `ServedMethods.all` in `Handlers`.
package struct ServedMethods: Sendable {
  private let byName: [String: ServedMethod]

  init(_ methods: [ServedMethod]) {
    byName = Dictionary(uniqueKeysWithValues: methods.map { ($0.info.name, $0) })
  }

  subscript(name: String) -> ServedMethod? { byName[name] }

  /// Nil for a method that is not served.
  func carriesBody(_ name: String) -> Bool? { byName[name]?.info.carriesBody }
}
