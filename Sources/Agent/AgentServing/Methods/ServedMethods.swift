internal import AgentProtocol
internal import Synchronization

/// The methods that are served, by their names: `ServedMethods.all` in `Handlers`.
///
/// Each is made when it is first asked for: the runtime then looks its types up, and most agents serve few of them.
package final class ServedMethods: Sendable {
  private let makers: [String: @Sendable () -> ServedMethod]
  private let made = Mutex<[String: ServedMethod]>([:])

  init(_ makers: [String: @Sendable () -> ServedMethod]) { self.makers = makers }

  subscript(name: String) -> ServedMethod? {
    made.withLock { made in
      if let method = made[name] { return method }
      guard let method = makers[name]?() else { return nil }
      precondition(method.info.name == name, "\(name) has the handler of \(method.info.name)")
      made[name] = method
      return method
    }
  }

  func serves(_ name: String) -> Bool { makers[name] != nil }

  /// Nil for a method that is not served.
  func carriesBody(_ name: String) -> Bool? { self[name]?.info.carriesBody }
}
