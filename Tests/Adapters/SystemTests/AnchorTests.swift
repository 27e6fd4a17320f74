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

/// The root keys that the anchors know (docs/storage.md, Anchors).
@Suite struct RootPrintTests {
  let directory = TemporaryDirectory()
  let id: [UInt8] = [0x00, 0xab, 0x10]
  var anchors: String { directory.path("anchors") }

  private func print(_ epoch: UInt32, _ byte: UInt8 = 1) -> RootPrint {
    RootPrint(epoch: epoch, digest: [UInt8](repeating: byte, count: RootPrint.digestBytes))
  }

  @Test func rootPrints_areReplacedAsAWhole() throws {
    let anchor = AnchorFile(directory: anchors)
    #expect(try anchor.rootPrints(databaseID: id) == [])
    try anchor.record([print(1), print(2)], databaseID: id)
    #expect(try AnchorFile(directory: anchors).rootPrints(databaseID: id) == [print(1), print(2)])
    try anchor.record([print(.max, 0xff)], databaseID: id)
    #expect(try anchor.rootPrints(databaseID: id) == [print(.max, 0xff)])
    #expect(directory.mode("anchors/00ab10.root") == 0o600)
    #expect(try anchor.rootPrints(databaseID: [1]) == [])
  }

  @Test func anchorWithACountAlone_hasNoRootKey_andKeepsItsCount() throws {
    directory.write(Array("lanyard-anchor-1 5\n".utf8), to: "00ab10")
    let anchor = AnchorFile(directory: directory.path)
    #expect(try anchor.rootPrints(databaseID: id) == [])
    try anchor.record([print(1)], databaseID: id)
    #expect(try anchor.sequence(databaseID: id) == 5)
    #expect(try String(contentsOfFile: directory.path("00ab10"), encoding: .utf8) == "lanyard-anchor-1 5\n")
  }

  @Test(arguments: [
    "", "lanyard-roots-1\n", "lanyard-roots-1 1:0101\n", "lanyard-roots-2 1:01010101010101010101010101010101\n",
    "lanyard-roots-1 1:01010101010101010101010101010101", "lanyard-roots-1 x:01010101010101010101010101010101\n",
    "lanyard-roots-1 1:0101010101010101010101010101010g\n",
    "lanyard-roots-1 1:01010101010101010101010101010101 2:01010101010101010101010101010101 "
      + "3:01010101010101010101010101010101\n",
  ]) func damagedRootPrints_areReportedAndReplaced(text: String) throws {
    let anchor = AnchorFile(directory: directory.path)
    directory.write(Array(text.utf8), to: "00ab10.root")
    #expect(throws: KeySourceFailure.damaged) { try anchor.rootPrints(databaseID: id) }
    try anchor.record([print(3)], databaseID: id)
    #expect(try anchor.rootPrints(databaseID: id) == [print(3)])
  }

  @Test func databaseOfAStateDirectory_isTheLastThatWasOpenedInIt() throws {
    func anchor(_ state: String) -> AnchorFile {
      AnchorFile(
        directory: anchors, place: AnchoredPlace(directory: anchors, stateDirectory: directory.path(state)))
    }
    #expect(try anchor("state").databaseHere() == nil)
    try anchor("state").advance(databaseID: id, to: 1)
    #expect(try anchor("state").databaseHere() == id)
    #expect(try anchor("other").databaseHere() == nil)
    #expect(try AnchorFile(directory: anchors).databaseHere() == nil)
    // An opening records the root key, also one that the anchor knows.
    try anchor("other").record([print(1)], databaseID: id)
    #expect(try anchor("other").databaseHere() == id)
    try anchor("other").record([print(1)], databaseID: [9])
    try anchor("other").record([print(1)], databaseID: id)
    #expect(try anchor("other").databaseHere() == id)
    #expect(try Anchors([FakeAnchor(), anchor("state")]).databaseHere() == id)
    #expect(try Anchors([FakeAnchor()]).databaseHere() == nil)
  }

  @Test func noteThatCannotBeRead_namesNoDatabase_andIsReplaced() throws {
    let place = AnchoredPlace(directory: anchors, stateDirectory: directory.path("state"))
    let anchor = AnchorFile(directory: anchors, place: place)
    try anchor.advance(databaseID: id, to: 1)
    let note = try #require(
      try FileManager.default.contentsOfDirectory(atPath: anchors).first { $0.hasPrefix("place-") })
    directory.write(Array("lanyard-place-1 xyz\n".utf8), to: "anchors/" + note)
    let later = AnchorFile(
      directory: anchors, place: AnchoredPlace(directory: anchors, stateDirectory: directory.path("state")))
    #expect(try later.databaseHere() == nil)
    try later.record([print(1)], databaseID: id)
    #expect(try later.databaseHere() == id)
  }

  @Test func highestEpoch_winsOverAnchorsThatMissedARotation() throws {
    let (file, other) = (FakeAnchor(), FakeAnchor())
    (file.prints, other.prints) = ([print(2)], [print(1)])
    #expect(try Anchors([file, other]).rootPrints(databaseID: []) == [print(2)])
    #expect(try Anchors([other, file]).rootPrints(databaseID: []) == [print(2)])
    other.prints = [print(1), print(2, 9)]
    #expect(try Anchors([file, other]).rootPrints(databaseID: []) == [print(2), print(1), print(2, 9)])
    file.failure = .damaged
    #expect(try Anchors([file, other]).rootPrints(databaseID: []) == [print(1), print(2, 9)])
    other.prints = []
    #expect(throws: KeySourceFailure.damaged) { try Anchors([file, other]).rootPrints(databaseID: []) }
  }

  @Test func anchorThatGoesOnNamingAnotherRootKey_isReported() throws {
    let (file, other) = (FakeAnchor(), FakeAnchor(failure: .unavailable))
    try Anchors([file, other]).record([print(1)], databaseID: [])
    #expect(file.prints == [print(1)])
    file.writeFailure = .unavailable
    try Anchors([file, other]).record([print(1)], databaseID: [])
    #expect(throws: KeySourceFailure.unavailable) { try Anchors([file, other]).record([print(2)], databaseID: []) }
    file.prints = []
    try Anchors([file, other]).record([print(2)], databaseID: [])
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

  @Test func rootPrints_areKeptBesideTheCountAndReplacedWhereDamaged() throws {
    let name = prefix + "0708:root"
    defer { _ = lanyard_keyring_remove(name) }
    let anchor = KeyringAnchor(prefix: prefix)
    let prints = [1, 2].map { RootPrint(epoch: $0, digest: [UInt8](repeating: 5, count: RootPrint.digestBytes)) }
    #expect(try anchor.rootPrints(databaseID: id) == [])
    try anchor.record(prints, databaseID: id)
    #expect(try anchor.rootPrints(databaseID: id) == prints)
    for content in ["short", String(repeating: "long", count: 100)] {
      #expect(lanyard_keyring_write(name, content, content.utf8.count) == 0)
      #expect(throws: KeySourceFailure.damaged) { try anchor.rootPrints(databaseID: id) }
    }
    try anchor.record([prints[0]], databaseID: id)
    #expect(try anchor.rootPrints(databaseID: id) == [prints[0]])
  }
}

/// An anchor in memory that can fail.
private final class FakeAnchor: RollbackAnchor, @unchecked Sendable {
  var known: UInt64?
  var prints: [RootPrint] = []
  var failure: KeySourceFailure?
  var writeFailure: KeySourceFailure?
  let outlastsRestarts: Bool
  init(_ known: UInt64? = nil, failure: KeySourceFailure? = nil, outlastsRestarts: Bool = true) {
    (self.known, self.failure, self.outlastsRestarts) = (known, failure, outlastsRestarts)
  }

  func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    if let failure { throw failure }
    return known
  }

  func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) -> Bool {
    if let failure = failure ?? writeFailure { throw failure }
    guard known ?? 0 < sequence else { return false }
    known = sequence
    return true
  }

  func rootPrints(databaseID: [UInt8]) throws(KeySourceFailure) -> [RootPrint] {
    if let failure { throw failure }
    return prints
  }

  func record(_ prints: [RootPrint], databaseID: [UInt8]) throws(KeySourceFailure) {
    if let failure = failure ?? writeFailure { throw failure }
    self.prints = prints
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
    let (good, bad) = (FakeAnchor(3), FakeAnchor(failure: .damaged, outlastsRestarts: false))
    let anchors = Anchors([bad, good])
    #expect(try anchors.sequence(databaseID: []) == 3)
    try anchors.advance(databaseID: [], to: 8)
    #expect(good.known == 8)
    #expect(anchors.holds(8, databaseID: []))
    #expect(!anchors.holds(9, databaseID: []))
  }

  @Test func anchorThatOutlastsRestartsAndCannotBeWritten_isReportedAlsoWhereAnotherIs() throws {
    let (file, keyring) = (FakeAnchor(3), FakeAnchor(3, outlastsRestarts: false))
    let anchors = Anchors([file, keyring])
    file.writeFailure = .unavailable
    #expect(throws: KeySourceFailure.unavailable) { try anchors.advance(databaseID: [], to: 4) }
    #expect(keyring.known == 4, "the others are told all the same")
    #expect(!anchors.holds(4, databaseID: []))
    #expect(try !anchors.advance(databaseID: [], to: 4), "that another copy went on is told first")
    #expect(Anchors([keyring]).holds(4, databaseID: []))
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
