import Secrets
import Testing

@Suite struct InboxKeyTests {
  let key = InboxKey(SealingKey(bytes: Array(0..<32)))
  let context: [UInt8] = Array("drop 7".utf8)

  @Test(arguments: [0, 1, 900, 70_000]) func recordSealedToTheInbox_isOpenedByItsKey(count: Int) throws {
    let plain = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let sealed = key.publicKey.seal(Secret(plain), additionalData: context)
    #expect(try key.open(sealed, additionalData: context).copied == plain)
  }

  @Test func sameSealingKey_makesTheSameInboxKey() throws {
    let again = InboxKey(SealingKey(bytes: Array(0..<32)))
    #expect(
      try again.open(key.publicKey.seal(Secret([1, 2]), additionalData: []), additionalData: []).copied == [1, 2])
  }

  @Test func recordSealedToTheInbox_isNotOpenedByAnotherKeyOrContext() {
    let sealed = key.publicKey.seal(Secret([1, 2, 3]), additionalData: context)
    #expect(throws: DecryptionFailed.self) {
      _ = try InboxKey(SealingKey(bytes: Array(1...32))).open(sealed, additionalData: context)
    }
    #expect(throws: DecryptionFailed.self) { _ = try key.open(sealed, additionalData: Array("drop 8".utf8)) }
  }

  @Test func changedOrTruncatedInboxRecord_failsToOpen() {
    let sealed = key.publicKey.seal(Secret([1, 2, 3]), additionalData: context)
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 0x10
      #expect(throws: DecryptionFailed.self) { _ = try key.open(changed, additionalData: context) }
    }
    for length in sealed.indices {
      #expect(throws: DecryptionFailed.self) { _ = try key.open(Array(sealed.prefix(length)), additionalData: context) }
    }
  }

  @Test func sealingTheSameRecordTwice_givesDifferentBytes() {
    #expect(Set((0..<50).map { _ in key.publicKey.seal(Secret([7]), additionalData: context) }).count == 50)
  }
}
