import Secrets
import Testing

@Suite struct SealingTests {
  let key = SealingKey(bytes: Array(0..<32))
  let context: [UInt8] = Array("alice".utf8)

  /// draft-irtf-cfrg-xchacha-03 A.3.1: the seal is that algorithm, nonce first.
  @Test func testVectorOfTheXChaChaDraft_opens() throws {
    let key = SealingKey(bytes: Array(0x80...0x9f))
    let sealed =
      Array(0x40...0x57)
      + bytes(
        hex: """
          bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216
          cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13
          b52ec0875924c1c7987947deafd8780acf49
          """)
    let plain = try key.open(sealed, additionalData: bytes(hex: "50515253c0c1c2c3c4c5c6c7"))
    #expect(
      String(decoding: plain.copied, as: UTF8.self)
        == "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen "
        + "would be it.")
  }

  @Test(arguments: [0, 1, 31, 64, 5_000, 70_000]) func sealedText_isOpenedByItsKey(count: Int) throws {
    let plain = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let sealed = seal(plain, with: key, context)
    #expect(sealed.count == count + 24 + 16)
    #expect(try key.open(sealed, additionalData: context).copied == plain)
    #expect(try key.open(key.seal(Secret(plain), additionalData: []), additionalData: []).copied == plain)
  }

  @Test func sealingTheSameTextTwice_givesDifferentBytes() {
    let seals = (0..<200).map { _ in seal([1, 2, 3], with: key, context) }
    #expect(Set(seals).count == 200)
    #expect(Set(seals.map { Array($0.prefix(24)) }).count == 200)
  }

  @Test func sealedTextWithAChangedBit_failsToOpen() {
    let sealed = seal(Array("token".utf8), with: key, context)
    for bit in 0..<(sealed.count * 8) {
      var changed = sealed
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: DecryptionFailed.self) { try key.open(changed, additionalData: context) }
    }
  }

  @Test func sealedTextOfAnotherLength_failsToOpen() {
    let sealed = seal(Array("token".utf8), with: key, context)
    for count in 0..<sealed.count {
      #expect(throws: DecryptionFailed.self) { try key.open(Array(sealed.prefix(count)), additionalData: context) }
      #expect(throws: DecryptionFailed.self) { try key.open(Array(sealed.suffix(count)), additionalData: context) }
    }
    #expect(throws: DecryptionFailed.self) { try key.open(sealed + [0], additionalData: context) }
  }

  @Test func sealedTextWithAnotherContextOrKey_failsToOpen() {
    let sealed = seal([1], with: key, context)
    for data in [[], Array("alic".utf8), Array("alicf".utf8), Array("alice\u{0}".utf8)] as [[UInt8]] {
      #expect(throws: DecryptionFailed.self) { try key.open(sealed, additionalData: data) }
    }
    #expect(throws: DecryptionFailed.self) { try SealingKey.random().open(sealed, additionalData: context) }
    #expect(throws: DecryptionFailed.self) { try key.derive("token").open(sealed, additionalData: context) }
  }

  @Test func sealedText_hidesThePlainText() {
    let plain = [UInt8](repeating: 0x55, count: 4_000)
    let sealed = seal(plain, with: key, context)
    // By chance, 4,000 random bytes hold about 16 of any value.
    #expect(sealed.filter { $0 == 0x55 }.count < 100)
  }
}

@Suite struct DerivationTests {
  let key = SealingKey(bytes: Array(0..<32))

  /// Computed with another implementation: keyed BLAKE2b-256 of ("key", label, context), lengths before each.
  @Test func derivedKey_isKeyedBLAKE2b() {
    #expect(
      key.derive("token", [1, 2, 3]).secret.copied
        == bytes(hex: "64c4b6333c32168b4e7b2311c54e42f8e1a7345190618ec586b17d830db51987"))
    #expect(
      key.digest("token", [1, 2, 3])
        == bytes(hex: "6cf4a9cd861874d09b969c782f0873b94a15b387ebe72ae770dc52632a886c8b"))
  }

  @Test func derivedKeys_differByLabelContextAndKey() {
    let other = SealingKey(bytes: Array(1...32))
    let derived = [
      key.derive("token"), key.derive("data"), key.derive("token", [0]), key.derive("token", [0, 0]),
      key.derive("toke", Array("n".utf8)), key.derive("", Array("token".utf8)), other.derive("token"),
      key.derive("token").derive("token"),
    ].map { $0.secret.copied }
    #expect(Set(derived).count == derived.count)
    #expect(key.derive("token").secret.equals(key.derive("token").secret))
  }

  /// A digest is stored in the clear, so it must differ from every derived key.
  @Test func digest_differsFromTheDerivedKey() {
    for label in ["token", "key", "digest", ""] {
      #expect(key.digest(label, [1]) != key.derive(label, [1]).secret.copied)
    }
  }

  @Test func sealingKey_hasExactly32Bytes() {
    for count in [0, 16, 31, 33, 64] { #expect(SealingKey(Secret([UInt8](repeating: 1, count: count))) == nil) }
    #expect(!SealingKey.random().secret.equals(SealingKey.random().secret))
  }
}

@Suite struct LengthPrefixedTests {
  @Test func lengthPrefixedLists_differInTheirBytes() {
    func spelled(_ fields: [[UInt8]]) -> [UInt8] {
      var list = LengthPrefixed()
      for field in fields { list.append(field) }
      return list.bytes
    }
    let lists: [[[UInt8]]] = [
      [], [[]], [[], []], [[0]], [[0], []], [[], [0]], [[1, 2], [3]], [[1], [2, 3]], [[1, 2, 3]], [[1], [2], [3]],
      [[1, 0, 0, 0, 9]], [[0, 0, 0, 0]],
    ]
    #expect(Set(lists.map(spelled)).count == lists.count)
    #expect(spelled([[7, 8]]) == [2, 0, 0, 0, 7, 8])
  }

  @Test func lengthPrefixedNumber_isEightBytesLittleEndian() {
    var list = LengthPrefixed()
    list.append(0x0102_0304_0506_0708)
    #expect(list.bytes == [8, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1])
  }

  @Test func lengthPrefixedText_isItsUTF8() {
    for text in ["", "é", String(repeating: "é", count: 200)] {
      var (one, other) = (LengthPrefixed(capacity: 0), LengthPrefixed())
      one.append(text)
      other.append(Array(text.utf8))
      #expect(one.bytes == other.bytes)
    }
  }
}

@Suite struct HashTests {
  @Test func sha256_matchesTheFIPSVectors() {
    // FIPS 180-2, appendix B, and the empty message.
    #expect(
      sha256(UnsafeRawBufferPointer(start: nil, count: 0))
        == bytes(hex: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
    #expect(
      Array("abc".utf8).withUnsafeBytes { sha256($0) }
        == bytes(hex: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
  }
}

@Suite struct PassphraseTests {
  let salt: [UInt8] = Array(0..<16)

  /// Computed with OpenSSL: Argon2id, t = 3, m = 64 MiB, one lane.
  @Test func passphraseKey_isArgon2id() throws {
    let key = try #require(PassphraseStretching.least.key(from: Secret(text: "correct horse"), salt: salt))
    #expect(
      key.secret.copied == bytes(hex: "e3c889ca40ed01e6b6771fc8a5bf16e35ad60b41c9bd5d7e6d63adf51e50b0fd"))
  }

  @Test func passphraseKey_dependsOnPassphraseSaltAndCosts() throws {
    let costs = PassphraseStretching.least
    let key = try #require(costs.key(from: Secret(text: "correct horse"), salt: salt))
    var more = costs
    more.passes += 1
    let others = [
      costs.key(from: Secret(text: "correct horsf"), salt: salt), costs.key(from: Secret(text: ""), salt: salt),
      costs.key(from: Secret(text: "correct horse"), salt: salt.reversed()),
      more.key(from: Secret(text: "correct horse"), salt: salt),
    ]
    for other in others { #expect(!(try #require(other)).secret.equals(key.secret)) }
  }

  @Test func passphraseCostsOutOfBounds_giveNoKey() {
    let (least, most) = (PassphraseStretching.least, PassphraseStretching.most)
    for costs in [
      PassphraseStretching(passes: least.passes - 1, memoryBytes: least.memoryBytes),
      PassphraseStretching(passes: most.passes + 1, memoryBytes: least.memoryBytes),
      PassphraseStretching(passes: .max, memoryBytes: least.memoryBytes),
      PassphraseStretching(passes: least.passes, memoryBytes: least.memoryBytes - 1),
      PassphraseStretching(passes: least.passes, memoryBytes: most.memoryBytes + 1),
      PassphraseStretching(passes: least.passes, memoryBytes: -1),
      PassphraseStretching(passes: 0, memoryBytes: 0),
    ] {
      #expect(!costs.isWithinBounds)
      #expect(costs.key(from: Secret(text: "correct horse"), salt: salt) == nil)
    }
    #expect(least.isWithinBounds && most.isWithinBounds)
  }

  @Test func passphraseSaltOfAnotherLength_givesNoKey() {
    for count in [0, 15, 17] {
      let salt = [UInt8](repeating: 0, count: count)
      #expect(PassphraseStretching.least.key(from: Secret(text: "correct horse"), salt: salt) == nil)
    }
  }
}
