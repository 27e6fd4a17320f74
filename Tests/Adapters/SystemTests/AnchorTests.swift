import AgentPorts
import CPlatform
import Foundation
import KeyProviders
import Testing

@Suite struct AnchorFileTests {
  let directory = TemporaryDirectory()
  let id: [UInt8] = [0x00, 0xab, 0x10]
  var anchors: String { directory.path("config/lanyard/anchors") }

  @Test func anchorFileOfAnUnknownDatabase_isNil() throws {
    let anchor = AnchorFile(directory: anchors)
    #expect(try anchor.sequence(databaseID: id) == nil)
    #expect(directory.names.isEmpty)
  }

  @Test func anchor_onlyGoesUp() throws {
    let anchor = AnchorFile(directory: anchors)
    try anchor.advance(databaseID: id, to: 5)
    try anchor.advance(databaseID: id, to: 3)
    #expect(try anchor.sequence(databaseID: id) == 5)
    try anchor.advance(databaseID: id, to: .max)
    #expect(try AnchorFile(directory: anchors).sequence(databaseID: id) == .max)
    #expect(try anchor.sequence(databaseID: [1]) == nil)
  }

  @Test func countThatAnotherCopyUsed_isRefused() throws {
    #expect(try AnchorFile(directory: anchors).advance(databaseID: id, to: 5))
    #expect(try !AnchorFile(directory: anchors).advance(databaseID: id, to: 5))
    #expect(try !AnchorFile(directory: anchors).advance(databaseID: id, to: 4))
    #expect(try AnchorFile(directory: anchors).advance(databaseID: id, to: 6))
  }

  @Test func sameCountTakenByManyAtOnce_isTakenOnce() async throws {
    let (anchors, id) = (anchors, id)
    for count in 1...20 as ClosedRange<UInt64> {
      let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<8 {
          group.addTask { try AnchorFile(directory: anchors).advance(databaseID: id, to: count) }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(taken == 1)
    }
  }

  @Test func stateDirectoryOfAStore_isKnownFromItsFirstCountOn() throws {
    let state = directory.path("state")
    let place = AnchoredPlace(directory: anchors, stateDirectory: state)
    #expect(!place.isKnown)
    try AnchorFile(directory: anchors, place: place).advance(databaseID: id, to: 1)
    #expect(place.isKnown)
    #expect(AnchoredPlace(directory: anchors, stateDirectory: state + "/").isKnown)
    #expect(!AnchoredPlace(directory: anchors, stateDirectory: directory.path("other")).isKnown)
  }

  @Test func anchorFile_isPrivateAndNamedByTheDatabase() throws {
    try AnchorFile(directory: anchors).advance(databaseID: id, to: 1)
    #expect(directory.mode("config/lanyard/anchors") == 0o700)
    #expect(directory.mode("config/lanyard/anchors/00ab10") == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: anchors) == ["00ab10"])
  }

  @Test(arguments: [
    "", "-1", "1e9", "lanyard-anchor-1 ", "lanyard-anchor-1 1e9\n", "lanyard-anchor-1 5", "lanyard-anchor-1 -5\n",
    "lanyard-anchor-2 5\n",
    "lanyard-anchor-1 18446744073709551616\n", "lanyard-anchor-1 5\n\n",
    "lanyard-anchor-1 00000000000000000000000005\n",
    "x",
  ]) func damagedAnchor_isReportedAndReplaced(text: String) throws {
    let anchor = AnchorFile(directory: directory.path)
    directory.write(Array(text.utf8), to: "00ab10")
    #expect(throws: KeySourceFailure.damaged) { try anchor.sequence(databaseID: id) }
    try anchor.advance(databaseID: id, to: 9)
    #expect(try anchor.sequence(databaseID: id) == 9)
  }

  @Test func anchorFileWritableByOthers_isRefused() throws {
    let anchor = AnchorFile(directory: directory.path)
    try anchor.advance(databaseID: id, to: 9)
    chmod(directory.path("00ab10"), 0o666)
    #expect(throws: KeySourceFailure.unsafePermissions) { try anchor.sequence(databaseID: id) }
    #expect(throws: KeySourceFailure.unsafePermissions) { try anchor.advance(databaseID: id, to: 10) }
  }

  @Test func symlinkedAnchorFile_isRefused() throws {
    directory.write(Array("lanyard-anchor-1 5\n".utf8), to: "elsewhere")
    symlink("elsewhere", directory.path("00ab10"))
    #expect(throws: KeySourceFailure.unsafePermissions) {
      try AnchorFile(directory: directory.path).sequence(databaseID: id)
    }
  }
}

/// True where the kernel and the sandbox allow a user keyring.
let keyringWorks: Bool = {
  let name = "lanyard-test-probe:\(getpid())"
  defer { _ = lanyard_keyring_remove(name) }
  return lanyard_keyring_write(name, "x", 1) == 0
}()

@Suite(.enabled(if: keyringWorks, "no user keyring in this sandbox")) struct KeyringAnchorTests {
  let prefix = "lanyard-test:\(getpid()):\(UInt32.random(in: 0 ... .max)):"
  let id: [UInt8] = [7, 8]

  @Test func anchor_onlyGoesUp() throws {
    defer { _ = lanyard_keyring_remove(prefix + "0708") }
    let anchor = KeyringAnchor(prefix: prefix)
    #expect(try anchor.sequence(databaseID: id) == nil)
    try anchor.advance(databaseID: id, to: 0x0102_0304_0506_0708)
    try anchor.advance(databaseID: id, to: 3)
    #expect(try anchor.sequence(databaseID: id) == 0x0102_0304_0506_0708)
  }

  @Test func damagedAnchor_isReportedAndReplaced() throws {
    defer { _ = lanyard_keyring_remove(prefix + "0708") }
    let anchor = KeyringAnchor(prefix: prefix)
    for content in ["short", "longer than eight"] {
      #expect(lanyard_keyring_write(prefix + "0708", content, content.utf8.count) == 0)
      #expect(throws: KeySourceFailure.damaged) { try anchor.sequence(databaseID: id) }
    }
    try anchor.advance(databaseID: id, to: 4)
    #expect(try anchor.sequence(databaseID: id) == 4)
  }
}

/// An anchor in memory that can fail.
private final class FakeAnchor: RollbackAnchor, @unchecked Sendable {
  var known: UInt64?
  var failure: KeySourceFailure?
  init(_ known: UInt64? = nil, failure: KeySourceFailure? = nil) { (self.known, self.failure) = (known, failure) }

  func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    if let failure { throw failure }
    return known
  }

  func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) -> Bool {
    if let failure { throw failure }
    guard known ?? 0 < sequence else { return false }
    known = sequence
    return true
  }
}

@Suite struct AnchorsTests {
  @Test func anchors_takeTheHighestSequence() throws {
    #expect(try Anchors([FakeAnchor(3), FakeAnchor(9), FakeAnchor()]).sequence(databaseID: []) == 9)
    #expect(try Anchors([FakeAnchor(), FakeAnchor()]).sequence(databaseID: []) == nil)
  }

  @Test func countThatOneAnchorKnows_isRefused() throws {
    let (first, second) = (FakeAnchor(3), FakeAnchor(4))
    #expect(try !Anchors([first, second]).advance(databaseID: [], to: 4))
    #expect(first.known == 4, "the others are told all the same")
    #expect(try Anchors([first, second]).advance(databaseID: [], to: 5))
  }

  @Test func failingAnchor_isLeftOut() throws {
    let (good, bad) = (FakeAnchor(3), FakeAnchor(failure: .damaged))
    let anchors = Anchors([bad, good])
    #expect(try anchors.sequence(databaseID: []) == 3)
    try anchors.advance(databaseID: [], to: 8)
    #expect(good.known == 8)
  }

  /// An anchor file is written atomically: no crash leaves one that is damaged, also none that is empty.
  @Test func damagedAnchorWhereNoOtherTellsACount_isReported() throws {
    #expect(throws: KeySourceFailure.damaged) {
      try Anchors([FakeAnchor(failure: .damaged), FakeAnchor()]).sequence(databaseID: [])
    }
    #expect(throws: KeySourceFailure.damaged) {
      try Anchors([FakeAnchor(failure: .locked), FakeAnchor(failure: .damaged)]).sequence(databaseID: [])
    }
    #expect(try Anchors([FakeAnchor(failure: .unavailable), FakeAnchor()]).sequence(databaseID: []) == nil)
  }

  @Test func anchorsThatAllFail_reportTheFirstFailure() throws {
    let anchors = Anchors([FakeAnchor(failure: .damaged), FakeAnchor(failure: .unavailable)])
    #expect(throws: KeySourceFailure.damaged) { try anchors.sequence(databaseID: []) }
    #expect(throws: KeySourceFailure.damaged) { try anchors.advance(databaseID: [], to: 1) }
    #expect(throws: KeySourceFailure.unavailable) { try Anchors([]).sequence(databaseID: []) }
  }
}
