import Secrets
import Testing

@Suite struct SecretBytesTests {
  struct Refused: Error, Equatable {}

  @Test(arguments: [0, 1, 63, 64, 65, 256, 257, 1_024, 4_096, 4_097, 16_384, 16_385, 100_000])
  func secretOfAnyLength_returnsItsBytes(count: Int) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let secret = Secret(bytes)
    #expect(secret.count == count)
    #expect(secret.copied == bytes)
  }

  @Test func secret_mayBeShorterThanItsCapacity() {
    let secret = Secret(
      SecretBytes(capacity: 100) { target in
        #expect(target.count == 100)
        target[0] = 7
        return 1
      })
    #expect(secret.copied == [7])
  }

  @Test func failedInitializer_throwsAndReleasesTheMemory() {
    for _ in 0..<10_000 {
      #expect(throws: Refused.self) {
        _ = try SecretBytes(capacity: 4_096) { (_) throws(Refused) -> Int in throw Refused() }
      }
    }
  }

  /// Memory that is reused must not show its previous content.
  @Test(arguments: [16, 200, 1_000, 4_000, 16_000, 40_000]) func releasedSecretMemory_isWipedBeforeReuse(count: Int) {
    let pattern: UInt8 = 0xc7
    for _ in 0..<50 {
      do { _ = Secret([UInt8](repeating: pattern, count: count)) }
      let found = Secret(
        SecretBytes(capacity: count) { target in
          #expect(!target.contains { $0 == pattern })
          return 0
        })
      #expect(found.count == 0)
    }
  }

  /// The address may be reused as soon as its owner is gone, so the test reads it while the pool still maps it.
  @Test func secret_isWipedWhenItsOwnerEnds() {
    let neighbour = Secret([1])
    var address: UnsafeRawPointer?
    do {
      let secret = Secret([UInt8](repeating: 0xee, count: 64))
      secret.withBytes { address = $0.baseAddress }
      #expect(address?.load(as: UInt8.self) == 0xee)
    }
    // `neighbour` keeps the slab from being unmapped.
    #expect(UnsafeRawBufferPointer(start: address, count: 64).allSatisfy { $0 == 0 })
    withExtendedLifetime(neighbour) {}
  }

  @Test func manySecrets_doNotOverlap() {
    let secrets = (0..<3_000).map { index in
      Secret([UInt8](repeating: UInt8(truncatingIfNeeded: index), count: 1 + index * 37 % 700))
    }
    for (index, secret) in secrets.enumerated() {
      #expect(secret.withBytes { $0.allSatisfy { $0 == UInt8(truncatingIfNeeded: index) } })
    }
  }

  @Test func secretsOnManyThreads_doNotOverlap() async {
    await withTaskGroup { group in
      for task in 0..<8 as Range<UInt8> {
        group.addTask {
          for round in 0..<2_000 {
            let count = 1 + (round * 53 + Int(task)) % 5_000
            let secret = Secret([UInt8](repeating: task, count: count))
            guard secret.withBytes({ $0.count == count && $0.allSatisfy { $0 == task } }) else {
              Issue.record("another thread's bytes")
              return
            }
          }
        }
      }
    }
  }

  @Test func randomSecrets_differ() {
    let (first, second) = (Secret(SecretBytes(random: 32)), Secret(SecretBytes(random: 32)))
    #expect(first.count == 32)
    #expect(!first.equals(second))
    #expect(Secret(SecretBytes(random: 0)).count == 0)
  }

  @Test func secretEquality_comparesBytes() {
    #expect(Secret(text: "ä").equals(Secret([0xc3, 0xa4])))
    #expect(Secret([]).equals(Secret([])))
    #expect(!Secret([1]).equals(Secret([1, 0])))
    #expect(!Secret([1, 2]).equals(Secret([1, 3])))
  }

  @Test func descriptionOfASecret_hidesItsBytes() {
    let secret = Secret(text: "sentinel-token")
    var dumped = ""
    dump(secret, to: &dumped)
    for text in [String(describing: secret), String(reflecting: secret), "\(secret)", dumped] {
      #expect(!text.contains("sentinel"))
    }
    let key = SealingKey(bytes: [UInt8](repeating: 0x41, count: 32))
    dump(key, to: &dumped)
    #expect(!dumped.contains("AAAA"))
  }
}

@Suite struct SecretBuilderTests {
  @Test func secretBuilder_joinsPiecesInOrder() {
    var builder = SecretBuilder(capacity: 1)
    builder.append("grant_type=")
    builder.append(Secret(text: "refresh"))
    builder.append(UInt8(ascii: "&"))
    builder.append("")
    [1, 2, 3].withUnsafeBytes { builder.append(UnsafeRawBufferPointer(rebasing: $0[..<1])) }
    #expect(builder.count == 20)
    let lent = builder.withBytes { Array($0) }
    #expect(lent == Array("grant_type=refresh&".utf8) + [1])
    #expect(builder.finish().copied == lent)
  }

  @Test func secretBuilder_growsBeyondEverySizeClass() {
    var builder = SecretBuilder(capacity: 0)
    for index in 0..<100_000 { builder.append(UInt8(truncatingIfNeeded: index)) }
    let secret = builder.finish()
    #expect(secret.copied == (0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
  }

  @Test func emptySecretBuilder_makesAnEmptySecret() {
    #expect(SecretBuilder().finish().count == 0)
  }

  @Test func droppedBeginning_isWipedAndTheRestKept() {
    var builder = SecretBuilder(capacity: 64)
    builder.append("0123456789")
    builder.removeFirst(4)
    let rest = builder.withBytes { rest in
      // Within the builder's memory: what the rest left behind.
      let left = UnsafeRawBufferPointer(start: rest.baseAddress! + rest.count, count: 4)
      return (Array(rest), Array(left))
    }
    #expect(rest.0 == Array("456789".utf8))
    #expect(rest.1 == [0, 0, 0, 0])
    builder.append("ab")
    builder.removeFirst(8)
    builder.removeFirst(0)
    #expect(builder.count == 0)
  }

  @Test func grownSecretBuilder_wipesItsOldMemory() {
    let neighbour = Secret([UInt8](repeating: 1, count: 64))
    var builder = SecretBuilder(capacity: 64)
    builder.append(Secret([UInt8](repeating: 0xdd, count: 64)))
    let old = builder.withBytes { $0.baseAddress }
    builder.append("more")
    #expect(UnsafeRawBufferPointer(start: old, count: 64).allSatisfy { $0 != 0xdd })
    withExtendedLifetime(neighbour) {}
  }
}

@Test func wipe_overwritesEveryByte() {
  var bytes = [UInt8](repeating: 9, count: 100)
  bytes.withUnsafeMutableBytes { wipe($0) }
  #expect(bytes.allSatisfy { $0 == 0 })
  wipe(UnsafeMutableRawBufferPointer(start: nil, count: 0))
}
