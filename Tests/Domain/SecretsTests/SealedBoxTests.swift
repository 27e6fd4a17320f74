import Secrets
import Testing

@Suite struct SealedBoxTests {
  private let key = BoxKey(seed: .random())

  @Test(arguments: [0, 1, 32, 70_000]) func whatWasPutInIsTakenOut(count: Int) throws {
    let plain = Secret(SecretBytes(random: count))
    let sealed = try #require(BoxKey.seal(plain, to: key.publicKey))
    #expect(sealed.count == count + BoxKey.overheadBytes)
    #expect(try key.open(sealed).equals(plain))
  }

  @Test func thePairBelongsToItsSeed() throws {
    let seed = SealingKey.random()
    let sealed = try #require(BoxKey.seal(Secret(text: "successor"), to: BoxKey(seed: seed).publicKey))
    #expect(try BoxKey(seed: seed).open(sealed).equals(Secret(text: "successor")))
    #expect(throws: DecryptionFailed.self) { try key.open(sealed) }
  }

  @Test func aChangedBoxIsBroken() throws {
    let sealed = try #require(BoxKey.seal(Secret(text: "successor"), to: key.publicKey))
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(throws: DecryptionFailed.self) { try key.open(changed) }
    }
    #expect(throws: DecryptionFailed.self) { try key.open(Array(sealed.prefix(BoxKey.overheadBytes - 1))) }
  }

  @Test func noKeyIsNoKey() {
    #expect(BoxKey.seal(Secret(text: "a"), to: []) == nil)
  }
}
