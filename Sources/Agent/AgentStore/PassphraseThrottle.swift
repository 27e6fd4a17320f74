internal import AgentCore
internal import AgentModel
internal import AgentPorts

/// An `UnlockThrottle` whose count the store keeps, so that a restart of the agent brings no free guesses (docs/storage.md,
/// Key slots). Owned by `VaultActor`.
///
/// The count is stored before the passphrase is judged. It is not sealed, because the vault is locked then. If the store
/// can't write it, the attempt goes on under the count in memory: a full disk must not keep the person out.
final class PassphraseThrottle {
  /// What a passphrase is for; each use has a count of its own.
  enum Use: String { case unlock, restore }

  private let use: Use
  private let store: any Store
  private let clock: any AgentClock
  private var throttle = UnlockThrottle()
  private var isRead = false

  init(_ use: Use, store: any Store, clock: any AgentClock) {
    self.use = use
    self.store = store
    self.clock = clock
  }

  private var name: String { "throttle.\(use.rawValue)" }

  /// The time until the next attempt is allowed; nil if it is allowed now.
  func pause() -> Milliseconds? {
    read()
    return throttle.pause(at: clock.boot())
  }

  /// Counts an attempt, durably where the store allows it. Returns the time to wait if it is not allowed yet.
  func begin() -> Milliseconds? {
    read()
    if let pause = throttle.begin(at: clock.boot()) { return pause }
    write()
    return nil
  }

  /// The attempt was wrong. Returns the time until the next one.
  func wasWrong() -> Milliseconds {
    let pause = throttle.wasWrong(at: clock.boot())
    write()
    return pause
  }

  /// The attempt was correct, or could not be judged.
  func wasNotWrong() {
    throttle.wasNotWrong()
    write()
  }

  /// Reads the count of earlier processes, once. A record that is missing or damaged counts nothing: it must not keep
  /// the person out.
  private func read() {
    guard !isRead else { return }
    do throws(StoreFailure) {
      let bytes = try store.metadata(name)
      isRead = true
      let stored = bytes.flatMap {
        UnlockThrottle(text: String(decoding: $0, as: UTF8.self), at: clock.boot(), bootID: clock.bootID)
      }
      if let stored { throttle = .stricter(throttle, stored) }
    } catch {
      // Try again before the next attempt.
    }
  }

  private func write() {
    let text = throttle.text(bootID: clock.bootID)
    try? store.commit([.putMetadata(name: name, value: Array(text.utf8))])
  }
}
