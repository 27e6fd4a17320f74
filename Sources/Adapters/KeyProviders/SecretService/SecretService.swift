public import AgentPorts
public import DBus
internal import CPlatform
internal import Glibc
public import Secrets
internal import Synchronization
internal import Threads

/// A key in the session keyring, as an item of the Secret Service (gnome-keyring, KeePassXC, KWallet). A copy of the
/// files is useless while the keyring is locked. Other programs of the same user can ask for the key too.
///
/// Only `unlock()` prompts: an agent that starts without a person at the screen must not wait for one. Calls block for
/// some milliseconds, or for some seconds if the service hangs.
public final class SecretService: KeySource {
  public let protection = "secretService"
  private let bus: BusAddress?
  private let name: ItemName
  /// Some services grant access to a connection, not to a user: the next call uses the connection that was granted.
  private let granted = Mutex<SecretSession?>(nil)
  /// One prompt at a time.
  private let isAsking = Atomic(false)

  /// - Parameters:
  ///   - bus: the session bus; nil if there is none.
  ///   - nameFile: holds the item's name, in a directory that only this user may enter; created with the key.
  public init(bus: BusAddress?, nameFile: String) {
    self.bus = bus
    name = ItemName(path: nameFile)
  }

  public func key() throws(KeySourceFailure) -> SealingKey? {
    guard let attributes = try attributes() else { return nil }
    return try withSession { (session) throws(KeySourceFailure) in try key(attributes, session) }
  }

  private func key(
    _ attributes: [(String, String)], _ session: SecretSession
  ) throws(KeySourceFailure) -> SealingKey? {
    let items = try Self.unlockedItems(attributes, session, .forbidden)
    var found: SealingKey?
    for item in items {
      guard let text = try onService({ () throws(BusFailure) in try session.secret(of: item) }),
        let key = KeyText.read(text)
      else { throw .damaged }
      // Copies, as a synchronised keyring makes them, are fine; of two different keys neither can be trusted.
      if let found, !found.secret.equals(key.secret) { throw .damaged }
      found = key
    }
    return found
  }

  /// Throws `unavailable` if the item exists: a key that may have sealed something is never replaced.
  public func createKey() throws(KeySourceFailure) -> SealingKey {
    try withSession { (session) throws(KeySourceFailure) in
      let known = try name.read()
      let own = if let known { known } else { try name.make() }
      let attributes = Self.attributes(own)
      guard try Self.unlockedItems(attributes, session, .forbidden).isEmpty else { throw .unavailable }
      let key = SealingKey.random()
      let text = KeyText.write(key)
      let isCreated = try onService { () throws(BusFailure) in
        guard let collection = try session.defaultCollection() else { return false }
        return try session.create(label: "Lanyard: key of the store", attributes, text, in: collection)
      }
      // Read back: only what the service has stored counts.
      guard isCreated, let kept = try self.key(attributes, session), kept.secret.equals(key.secret) else {
        throw .unavailable
      }
      return key
    }
  }

  public func removeKey() throws(KeySourceFailure) {
    guard let attributes = try attributes() else { return }
    try withSession { (session) throws(KeySourceFailure) in
      for item in try Self.unlockedItems(attributes, session, .forbidden) {
        guard try onService({ () throws(BusFailure) in try session.delete(item) }) else { throw .locked }
      }
    }
  }

  /// Has the service prompt for the keyring's password if the keyring is locked. Waits on a thread of its own, two
  /// minutes at most; throws `locked` if the person dismissed the prompt.
  public func unlock() async throws(KeySourceFailure) {
    guard !isAsking.exchange(true, ordering: .acquiring) else { throw .locked }
    defer { isAsking.store(false, ordering: .releasing) }
    let cancel = lanyard_eventfd()
    guard cancel >= 0 else { throw .unavailable }
    defer { close(cancel) }
    let failure = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isStarted = DetachedThread.start {
          do throws(KeySourceFailure) {
            try self.askPerson(until: cancel)
            continuation.resume(returning: KeySourceFailure?.none)
          } catch {
            continuation.resume(returning: error)
          }
        }
        if !isStarted { continuation.resume(returning: .unavailable) }
      }
    } onCancel: {
      lanyard_eventfd_signal(cancel)
    }
    if let failure { throw failure }
  }

  private func askPerson(until cancel: Int32) throws(KeySourceFailure) {
    let known = try attributes()
    let attributes = known ?? Self.attributes("")
    let session = try onService { () throws(BusFailure) in try SecretSession(bus) }
    _ = try Self.unlockedItems(attributes, session, .allowed(cancel: cancel))
    granted.withLock { $0 = session }
  }

  // MARK: the item

  private func attributes() throws(KeySourceFailure) -> [(String, String)]? {
    try name.read().map { Self.attributes($0) }
  }

  private static func attributes(_ name: String) -> [(String, String)] {
    [("application", "lanyard"), ("store", name), ("xdg:schema", "org.lanyard.StoreKey")]
  }

  /// The items, after every collection that may hold them is unlocked. Some services hide the items of a locked
  /// collection, so an empty result means nothing until then.
  private static func unlockedItems(
    _ attributes: [(String, String)], _ session: SecretSession, _ asking: SecretSession.Asking
  ) throws(KeySourceFailure) -> [String] {
    func find() throws(KeySourceFailure) -> SecretSession.Found {
      try onService { () throws(BusFailure) in try session.items(attributes) }
    }
    var found = try find()
    if found.unlocked.isEmpty {
      let closed: [String]
      if found.locked.isEmpty {
        guard let collection = try onService({ () throws(BusFailure) in try session.defaultCollection() }) else {
          throw .unavailable
        }
        guard try onService({ () throws(BusFailure) in try session.isLocked(collection: collection) }) else {
          return []
        }
        closed = [collection]
      } else {
        closed = found.locked
      }
      guard try onService({ () throws(BusFailure) in try session.unlock(closed, asking) }) else { throw .locked }
      found = try find()
    }
    guard !found.unlocked.isEmpty || found.locked.isEmpty else { throw .locked }
    return found.unlocked
  }

  private func withSession<Result>(
    _ body: (SecretSession) throws(KeySourceFailure) -> Result
  ) throws(KeySourceFailure) -> Result {
    if let granted = granted.withLock({ $0.take() }) {
      // The service may have ended since; a new session asks its successor.
      do throws(KeySourceFailure) { return try body(granted) } catch .unavailable {}
    }
    return try body(try onService { () throws(BusFailure) in try SecretSession(bus) })
  }
}
