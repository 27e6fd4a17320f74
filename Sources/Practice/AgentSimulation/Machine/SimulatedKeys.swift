public import AgentPorts
public import Secrets
internal import Synchronization

/// A key file in memory, which outlives the processes that use it.
public final class SimulatedKeys: KeySource {
  public let protection = "keyFile"
  private let state = Mutex<SealingKey?>(nil)

  public init() {}

  public func key() throws(KeySourceFailure) -> SealingKey? { state.withLock { $0 } }

  public func createKey() throws(KeySourceFailure) -> SealingKey {
    let new = SealingKey.random()
    state.withLock { $0 = new }
    return new
  }

  public func removeKey() { lose() }

  /// Deletes the file.
  public func lose() { state.withLock { $0 = nil } }
}
