import Secrets
import Testing

@Suite struct SealedBoxTests {
  private let key = BoxKey(seed: .random())

  @Test(arguments: [0, 1, 32, 70_000]) func sealedBox_isOpenedByItsKey(count: Int) throws {
    let plain = Secret(SecretBytes(random: count))
    let sealed = try #require(BoxKey.seal(plain, to: key.publicKey))
    #expect(sealed.count == count + BoxKey.overheadBytes)
    #expect(try key.open(sealed).equals(plain))
  }

  @Test func boxKeyPair_isDerivedFromItsSeed() throws {
    let seed = SealingKey.random()
    let sealed = try #require(BoxKey.seal(Secret(text: "successor"), to: BoxKey(seed: seed).publicKey))
    #expect(try BoxKey(seed: seed).open(sealed).equals(Secret(text: "successor")))
    #expect(throws: DecryptionFailed.self) { try key.open(sealed) }
  }

  @Test func changedOrTruncatedBox_failsToOpen() throws {
    let sealed = try #require(BoxKey.seal(Secret(text: "successor"), to: key.publicKey))
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(throws: DecryptionFailed.self) { try key.open(changed) }
    }
    #expect(throws: DecryptionFailed.self) { try key.open(Array(sealed.prefix(BoxKey.overheadBytes - 1))) }
  }

  @Test func emptyPublicKey_sealsNothing() {
    #expect(BoxKey.seal(Secret(text: "a"), to: []) == nil)
  }
}
