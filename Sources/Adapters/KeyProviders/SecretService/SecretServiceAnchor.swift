public import AgentPorts
public import DBus
internal import Secrets

/// A rollback anchor in an item of the Secret Service, one for each database: a copy of files does not restore it.
///
/// Never prompts: while the keyring is locked it throws, and the other anchors count. Each call takes some
/// milliseconds.
public struct SecretServiceAnchor: RollbackAnchor {
  private let bus: BusAddress?

  private static let heading = "lanyard-anchor-1 "

  /// - Parameter bus: the session bus; nil if there is none.
  public init(bus: BusAddress?) { self.bus = bus }

  public func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    let session = try onService { () throws(BusFailure) in try SecretSession(bus) }
    return try item(databaseID, session)?.sequence
  }

  @discardableResult
  public func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) -> Bool {
    let session = try onService { () throws(BusFailure) in try SecretSession(bus) }
    let text = Secret(text: Self.heading + String(sequence))
    if let known = try item(databaseID, session, damagedIsZero: true) {
      // The anchor never goes back: it is the highest count that was ever written.
      guard known.sequence < sequence else { return false }
      try onService { () throws(BusFailure) in try session.setSecret(text, of: known.path) }
    } else {
      try create("Lanyard: how far the store has come", Self.attributes(databaseID), text, session)
    }
    return true
  }

  private func create(
    _ label: String, _ attributes: [(String, String)], _ text: Secret, _ session: SecretSession
  ) throws(KeySourceFailure) {
    let isCreated = try onService { () throws(BusFailure) in
      guard let collection = try session.defaultCollection() else { return false }
      return try session.create(label: label, attributes, text, in: collection)
    }
    guard isCreated else { throw .unavailable }
  }

  // MARK: root keys

  public func rootPrints(databaseID: [UInt8]) throws(KeySourceFailure) -> [RootPrint] {
    let session = try onService { () throws(BusFailure) in try SecretSession(bus) }
    let found = try unlocked(Self.rootAttributes(databaseID), session)
    var newest: [RootPrint] = []
    for path in found {
      let text = try onService { () throws(BusFailure) in try session.secret(of: path) }
      guard let prints = text.flatMap(Self.prints) else { continue }
      if prints.map(\.epoch).max() ?? 0 > newest.map(\.epoch).max() ?? 0 { newest = prints }
    }
    guard found.isEmpty || !newest.isEmpty else { throw .damaged }
    return newest
  }

  public func record(_ prints: [RootPrint], databaseID: [UInt8]) throws(KeySourceFailure) {
    let session = try onService { () throws(BusFailure) in try SecretSession(bus) }
    let text = Secret(text: RootPrints.text(prints))
    let found = try unlocked(Self.rootAttributes(databaseID), session)
    guard !found.isEmpty else {
      return try create("Lanyard: which root key the store has", Self.rootAttributes(databaseID), text, session)
    }
    for path in found {
      let known = try onService { () throws(BusFailure) in try session.secret(of: path) }
      if known.flatMap(Self.prints) == prints { continue }
      try onService { () throws(BusFailure) in try session.setSecret(text, of: path) }
    }
  }

  private static func prints(_ text: Secret) -> [RootPrint]? {
    text.withBytes { RootPrints.read(String(decoding: $0, as: UTF8.self)) }
  }

  private static func rootAttributes(_ databaseID: [UInt8]) -> [(String, String)] {
    [("application", "lanyard"), ("database", hexadecimal(databaseID)), ("xdg:schema", "org.lanyard.RootPrint")]
  }

  // MARK: items

  /// The unlocked items; throws `.locked` if there may be others in a locked keyring.
  private func unlocked(
    _ attributes: [(String, String)], _ session: SecretSession
  ) throws(KeySourceFailure) -> [String] {
    let found = try onService { () throws(BusFailure) in try session.items(attributes) }
    guard found.unlocked.isEmpty else { return found.unlocked }
    guard found.locked.isEmpty else { throw .locked }
    // In a locked keyring, an empty result means nothing.
    let isLocked = try onService { () throws(BusFailure) in
      guard let collection = try session.defaultCollection() else { throw .malformed }
      return try session.isLocked(collection: collection)
    }
    guard !isLocked else { throw .locked }
    return []
  }

  private struct Item {
    var path: String
    var sequence: UInt64
  }

  /// The item with the highest count; nil if there is none. Damaged items are skipped beside valid ones.
  private func item(
    _ databaseID: [UInt8], _ session: SecretSession, damagedIsZero: Bool = false
  ) throws(KeySourceFailure) -> Item? {
    let found = try unlocked(Self.attributes(databaseID), session)
    guard !found.isEmpty else { return nil }
    var furthest: Item?
    for path in found {
      let text = try onService { () throws(BusFailure) in try session.secret(of: path) }
      guard let sequence = text.flatMap(Self.sequence) ?? (damagedIsZero ? 0 : nil) else { continue }
      if furthest.map({ sequence > $0.sequence }) ?? true { furthest = Item(path: path, sequence: sequence) }
    }
    guard let furthest else { throw .damaged }
    return furthest
  }

  private static func sequence(_ text: Secret) -> UInt64? {
    text.withBytes { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      guard text.hasPrefix(heading) else { return nil }
      return UInt64(text.dropFirst(heading.count))
    }
  }

  private static func attributes(_ databaseID: [UInt8]) -> [(String, String)] {
    [("application", "lanyard"), ("database", hexadecimal(databaseID)), ("xdg:schema", "org.lanyard.Anchor")]
  }
}
