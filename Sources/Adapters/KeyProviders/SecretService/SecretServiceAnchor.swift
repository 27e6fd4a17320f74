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
      let isCreated = try onService { () throws(BusFailure) in
        guard let collection = try session.defaultCollection() else { return false }
        return try session.create(
          label: "Lanyard: how far the store has come", Self.attributes(databaseID), text, in: collection)
      }
      guard isCreated else { throw .unavailable }
    }
    return true
  }

  private struct Item {
    var path: String
    var sequence: UInt64
  }

  /// The item with the highest count; nil if there is none. Damaged items are skipped beside valid ones.
  private func item(
    _ databaseID: [UInt8], _ session: SecretSession, damagedIsZero: Bool = false
  ) throws(KeySourceFailure) -> Item? {
    let found = try onService { () throws(BusFailure) in try session.items(Self.attributes(databaseID)) }
    if found.unlocked.isEmpty {
      guard found.locked.isEmpty else { throw .locked }
      // In a locked keyring, an empty result means nothing.
      let isLocked = try onService { () throws(BusFailure) in
        guard let collection = try session.defaultCollection() else { throw .malformed }
        return try session.isLocked(collection: collection)
      }
      guard !isLocked else { throw .locked }
      return nil
    }
    var furthest: Item?
    for path in found.unlocked {
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
