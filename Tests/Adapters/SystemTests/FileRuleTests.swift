import FileRules
import Foundation
import Testing

/// `FileRule`: which modes and kinds each rule takes. Owners need root, so the tests of the running programs show them.
@Suite struct FileRuleTests {
  let directory = TemporaryDirectory()

  /// The rules, and the widest mode and the narrowest that they take and refuse.
  static let modes: [(FileRule, taken: [mode_t], refused: [mode_t])] = [
    (.madeFile, [0o600, 0o400], [0o700, 0o640, 0o604, 0o4600]),
    (.privateFile, [0o700, 0o600, 0o4600], [0o640, 0o620, 0o601]),
    (.grant, [0o600], [0o640, 0o604]),
    (.passphrase, [0o600], [0o640, 0o604]),
    (.credential, [0o640, 0o400], [0o660, 0o644, 0o500]),
    (.ownFile, [0o644, 0o755], [0o664, 0o646]),
    (.trustedFile, [0o644, 0o755], [0o664, 0o646]),
    (.headerFile, [0o600, 0o611], [0o644, 0o620]),
    (.dotLanyard, [0o664, 0o755], [0o646, 0o602]),
    (.anyOwnFile, [0o666], []),
    (.file(of: [geteuid()]), [0o644, 0o755], [0o664, 0o646]),
    (.otherProgramsFile, [0o666], []),
    (.otherProgramsSecrets, [0o600, 0o622, 0o711], [0o640, 0o604]),
  ]

  private func fault(_ rule: FileRule, _ name: String, followingLinks: Bool = false) -> FileFault? {
    do throws(FileFault) {
      close(try rule.open(directory.path(name), followingLinks: followingLinks))
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: modes.indices) func ruleTakesAndRefusesModes(_ index: Int) {
    let (rule, taken, refused) = Self.modes[index]
    directory.write([1], to: "file")
    for mode in taken {
      chmod(directory.path("file"), mode)
      #expect(fault(rule, "file") == nil, "\(String(mode, radix: 8))")
    }
    for mode in refused {
      chmod(directory.path("file"), mode)
      #expect(fault(rule, "file") == .openToOthers(mode: mode), "\(String(mode, radix: 8))")
    }
  }

  @Test func directoryThatOthersEnter_isRefused() throws {
    let path = directory.path("place")
    mkdir(path, 0o700)
    #expect(throws: Never.self) { try FileRule.privateDirectory.check(path: path) }
    chmod(path, 0o710)
    #expect(throws: FileFault.openToOthers(mode: 0o710)) { try FileRule.privateDirectory.check(path: path) }
    #expect(throws: FileFault.otherKind) { try FileRule.socket.check(path: path) }
    #expect(throws: FileFault.otherKind) { try FileRule.madeFile.check(path: path) }
  }

  @Test func linkIsFollowedOnlyWhereAsked() {
    directory.write([1], to: "file")
    symlink("file", directory.path("link"))
    #expect(fault(.madeFile, "link") == .link)
    #expect(fault(.madeFile, "link", followingLinks: true) == nil)
    #expect(throws: FileFault.link) { try FileRule.madeFile.check(path: directory.path("link")) }
    #expect(fault(.madeFile, "none") == .system(ENOENT))
  }

  @Test func linkOfThisUser_keepsTheRuleOfLinks() {
    directory.write([1], to: "file")
    symlink("none", directory.path("link"))
    #expect(throws: Never.self) { try FileRule.trustedLink.check(path: directory.path("link")) }
    #expect(throws: FileFault.otherKind) { try FileRule.trustedLink.check(path: directory.path("file")) }
  }

  @Test func foreignOwner_isRefusedBeforeTheMode() {
    directory.write([1], to: "file")
    chmod(directory.path("file"), 0o666)
    let user = geteuid()
    #expect(fault(.file(of: [user + 1]), "file") == .foreignOwner(user))
    #expect(fault(.directory(of: [user + 1]), "file") == .otherKind)
  }

  /// Its opening would block without a writer.
  @Test func fifoIsNoPlainFile() {
    mkfifo(directory.path("fifo"), 0o600)
    #expect(fault(.trustedFile, "fifo") == .otherKind)
  }

  @Test func contentsEndAtTheLimit() throws {
    directory.write([1, 2, 3], to: "file")
    #expect(try FileRule.madeFile.contents(of: directory.path("file"), atMost: 3) == [1, 2, 3])
    #expect(throws: FileFault.tooLarge) {
      try FileRule.madeFile.contents(of: directory.path("file"), atMost: 2)
    }
  }
}
