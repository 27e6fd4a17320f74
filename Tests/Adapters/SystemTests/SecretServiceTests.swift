import AgentPorts
import DBus
import Foundation
import Secrets
import Testing

import KeyProviders

@Suite struct SessionKeyTests {
  @Test func sessionKeys_agreeOnBothSides() throws {
    let (one, other) = (try #require(SessionOffer()), try #require(SessionOffer()))
    #expect(one.publicNumber.count == 128)
    #expect(one.publicNumber != other.publicNumber)
    let mine = try #require(one.agree(with: other.publicNumber))
    let theirs = try #require(other.agree(with: [0] + one.publicNumber))
    for words in ["", "a", "fifteen bytes..", "sixteen bytes...", String(repeating: "long ", count: 100)] {
      let sealed = try #require(mine.seal(Secret(text: words)))
      #expect(sealed.vector.count == 16)
      #expect(sealed.sealed.count == words.utf8.count / 16 * 16 + 16)
      #expect(try #require(theirs.open(sealed.sealed, vector: sealed.vector)).equals(Secret(text: words)))
      #expect(try #require(mine.seal(Secret(text: words))).sealed != sealed.sealed)
    }
  }

  @Test func degenerateDiffieHellmanNumber_isRefused() throws {
    let offer = try #require(SessionOffer())
    let ones = [UInt8](repeating: 0xFF, count: 8)
    let prime = try #require(Self.prime)
    #expect(prime.starts(with: ones))
    let known: [[UInt8]] = [
      [], [0], [1], [0, 0, 1], prime, prime.dropLast() + [0xFE], [1] + [UInt8](repeating: 0, count: 128),
    ]
    for number in known {
      #expect(offer.agree(with: number) == nil)
    }
    #expect(offer.agree(with: [2]) != nil)
    #expect(offer.agree(with: prime.dropLast() + [0xFD]) != nil)
    #expect(offer.agree(with: [0, 0] + prime.dropLast() + [0xFD]) == nil)
  }

  /// RFC 2409 §6.2.
  private static let prime: [UInt8]? = {
    let digits =
      "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
      + "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
      + "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF"
    let values = digits.compactMap { $0.hexDigitValue }.map { UInt8($0) }
    return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
  }()

  @Test func changedSessionMessage_doesNotOpen() throws {
    let (one, other) = (try #require(SessionOffer()), try #require(SessionOffer()))
    let key = try #require(one.agree(with: other.publicNumber))
    let (vector, sealed) = try #require(key.seal(Secret(text: "sixteen bytes...")))
    let others: [[UInt8]] = [[], [1], sealed.dropLast() + [], sealed + [0], Array(sealed.prefix(16))]
    for broken in others {
      #expect(key.open(broken, vector: vector) == nil)
    }
    #expect(key.open(sealed, vector: []) == nil)
    #expect(key.open(sealed, vector: vector + [0]) == nil)
  }
}

@Suite struct KeyTextTests {
  private func text(_ key: SealingKey) -> [UInt8] { KeyText.write(key).withBytes { Array($0) } }

  private func read(_ bytes: [UInt8]) -> SealingKey? {
    KeyText.read(bytes.withUnsafeBytes { Secret(copying: $0) })
  }

  @Test func keyText_roundTrips() throws {
    for _ in 0..<50 {
      let key = SealingKey.random()
      #expect(try #require(read(text(key))).secret.equals(key.secret))
      #expect(try #require(read(text(key) + [10])).secret.equals(key.secret))
    }
  }

  @Test func changedKeyText_isRefused() {
    let bytes = text(SealingKey.random())
    #expect(bytes.count == 95)
    for index in bytes.indices {
      for bit in 0..<8 {
        var changed = bytes
        changed[index] ^= 1 << bit
        #expect(read(changed) == nil)
      }
    }
    let others: [[UInt8]] = [[], [10], bytes.dropLast() + [], bytes + [32], bytes + [10, 10], bytes + bytes]
    for other in others { #expect(read(other) == nil) }
  }
}

@Suite(.enabled(if: PrivateKeyring.isInstalled, "NOT TESTED: gnome-keyring is not installed (.ci/packages)"))
struct SecretServiceTests {
  let keyring: PrivateKeyring
  let state = TemporaryDirectory()

  init() throws { keyring = try PrivateKeyring() }

  private var service: SecretService {
    SecretService(bus: keyring.bus.address, nameFile: state.path("keyring-item"))
  }

  @Test func keyringItem_holdsTheKeyUntilItIsRemoved() throws {
    #expect(service.protection == "secretService")
    #expect(try service.key() == nil)
    #expect(state.names.isEmpty)
    let key = try service.createKey()
    #expect(state.names == ["keyring-item"])
    #expect(state.mode("keyring-item") == 0o600)
    #expect(try #require(try service.key()).secret.equals(key.secret))
    #expect(throws: KeySourceFailure.unavailable) { try service.createKey() }
    try service.removeKey()
    #expect(try service.key() == nil)
    #expect(try !service.createKey().secret.equals(key.secret))
  }

  @Test func damagedItemName_isReportedAndItemNameOpenToOthersIsRefused() throws {
    _ = try service.createKey()
    let name = state.bytes(of: "keyring-item")
    let others: [[UInt8]] = [[], Array("lanyard-item-1 ".utf8), name.dropLast() + [], name + [10], [120] + name]
    for content in others {
      state.write(content, to: "keyring-item")
      #expect(throws: KeySourceFailure.damaged) { try service.key() }
      #expect(throws: KeySourceFailure.damaged) { try service.createKey() }
    }
    state.write(name, to: "keyring-item", mode: 0o644)
    #expect(throws: KeySourceFailure.unsafePermissions) { try service.key() }
    state.write(name, to: "keyring-item")
    #expect(try service.key() != nil)
  }

  @Test func lockedKeyring_isReportedAsLocked() async throws {
    _ = try service.createKey()
    try keyring.lock()
    #expect(throws: KeySourceFailure.locked) { try service.key() }
    #expect(throws: KeySourceFailure.locked) { try service.removeKey() }
    // No prompt can be shown in this session.
    await #expect(throws: KeySourceFailure.locked) { try await service.unlock() }
    let other = SecretService(bus: keyring.bus.address, nameFile: state.path("other"))
    #expect(throws: KeySourceFailure.locked) { try other.createKey() }
  }

  @Test func keyringWithoutAServiceOrBus_isUnavailable() async throws {
    _ = try service.createKey()
    keyring.end()
    #expect(throws: KeySourceFailure.unavailable) { try service.key() }
    await #expect(throws: KeySourceFailure.unavailable) { try await service.unlock() }
    let nowhere = SecretService(bus: nil, nameFile: state.path("keyring-item"))
    #expect(throws: KeySourceFailure.unavailable) { try nowhere.key() }
    #expect(throws: KeySourceFailure.unavailable) { try nowhere.createKey() }
  }

  // MARK: the anchor

  private let id: [UInt8] = Array(1...16)
  private var anchor: SecretServiceAnchor { SecretServiceAnchor(bus: keyring.bus.address) }

  @Test func keyringAnchor_onlyGoesUp() throws {
    #expect(try anchor.sequence(databaseID: id) == nil)
    try anchor.advance(databaseID: id, to: 7)
    #expect(try anchor.sequence(databaseID: id) == 7)
    try anchor.advance(databaseID: id, to: 3)
    #expect(try anchor.sequence(databaseID: id) == 7)
    try anchor.advance(databaseID: id, to: .max)
    #expect(try anchor.sequence(databaseID: id) == .max)
    #expect(try anchor.sequence(databaseID: id.reversed()) == nil)
  }

  @Test func anchorInALockedKeyring_failsWithoutAPrompt() throws {
    try anchor.advance(databaseID: id, to: 7)
    try keyring.lock()
    #expect(throws: KeySourceFailure.locked) { try anchor.sequence(databaseID: id) }
    #expect(throws: KeySourceFailure.locked) { try anchor.advance(databaseID: id, to: 8) }
    #expect(throws: KeySourceFailure.locked) { try anchor.sequence(databaseID: id.reversed()) }
    keyring.end()
    #expect(throws: KeySourceFailure.unavailable) { try anchor.sequence(databaseID: id) }
    #expect(throws: KeySourceFailure.unavailable) { try SecretServiceAnchor(bus: nil).advance(databaseID: id, to: 9) }
  }

  @Test func damagedKeyringAnchor_isReportedAndReplaced() throws {
    try anchor.advance(databaseID: id, to: 7)
    let session = try SecretSession(keyring.bus.address)
    let item = try #require(try session.items([("database", hexadecimal(id))]).unlocked.first)
    for words in [
      "", "7", "lanyard-anchor-1 ", "lanyard-anchor-1 -1", "lanyard-anchor-1 7\u{7F}", "lanyard-anchor-2 7",
    ] {
      try session.setSecret(Secret(text: words), of: item)
      #expect(throws: KeySourceFailure.damaged) { try anchor.sequence(databaseID: id) }
    }
    try anchor.advance(databaseID: id, to: 4)
    #expect(try anchor.sequence(databaseID: id) == 4)
  }
}
