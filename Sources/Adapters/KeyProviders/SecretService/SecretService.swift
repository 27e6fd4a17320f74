public import AgentPorts
public import DBus
internal import CPlatform
internal import Glibc
public import Secrets
internal import Synchronization

/// A key in the keyring of the person's session, as an item of the Secret Service (gnome-keyring, KeePassXC, KWallet):
/// whoever copies files has nothing, as long as the keyring is locked. Programs of the same person can ask for it too.
///
/// Nobody is asked anything but by `unlock()`: a start without a person at the screen must not wait for one. Calls block
/// for some milliseconds, and where the service hangs for some seconds.
public final class SecretService: KeySource {
  public let protection = "secretService"
  private let bus: BusAddress?
  private let name: ItemName
  /// Some services grant access to a connection, not to a person: the one that was granted is used next.
  private let granted = Mutex<SecretSession?>(nil)
  /// One question at a time: a screen full of them answers none.
  private let isAsking = Atomic(false)

  /// - Parameters:
  ///   - bus: that of the person's session; nil if there is none.
  ///   - nameFile: the item's name, in a directory that only this user may enter; made with the key.
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
      // Copies, as a synchronised keyring makes them, are fine; which of two keys is ours is not for us to guess.
      if let found, !found.secret.equals(key.secret) { throw .damaged }
      found = key
    }
    return found
  }

  /// Throws `unavailable` if there is an item already: a key that something may be sealed under is never replaced.
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
      // What the service keeps is what counts.
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

  /// Has the service ask the person for the keyring, if that is locked. Waits on a thread of its own, two minutes at
  /// most; throws `locked` if they did not want to.
  public func unlock() async throws(KeySourceFailure) {
    guard !isAsking.exchange(true, ordering: .acquiring) else { throw .locked }
    defer { isAsking.store(false, ordering: .releasing) }
    let cancel = lanyard_eventfd()
    guard cancel >= 0 else { throw .unavailable }
    defer { close(cancel) }
    let failure = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let work = Detached {
          do throws(KeySourceFailure) {
            try self.askPerson(until: cancel)
            continuation.resume(returning: KeySourceFailure?.none)
          } catch {
            continuation.resume(returning: error)
          }
        }
        if !work.start() { continuation.resume(returning: .unavailable) }
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

  /// The items, once everything that may hold them is unlocked. Some services don't tell of an item while its collection
  /// is locked: that nothing is found then means nothing.
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
      // Its service may have ended since; then another one is asked.
      do throws(KeySourceFailure) { return try body(granted) } catch .unavailable {}
    }
    return try body(try onService { () throws(BusFailure) in try SecretSession(bus) })
  }
}

/// A thread for one thing that waits for a person.
private final class Detached: Sendable {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  /// False: the machine has no thread left, and the body does not run.
  func start() -> Bool {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, 512 << 10)
    var thread = pthread_t()
    let reference = Unmanaged.passRetained(self)
    let failed = pthread_create(
      &thread, &attributes,
      {
        Unmanaged<Detached>.fromOpaque($0!).takeRetainedValue().body()
        return nil
      }, reference.toOpaque())
    if failed != 0 { reference.release() }
    return failed == 0
  }
}
