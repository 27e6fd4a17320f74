import Foundation
import SystemAdapters
import Testing

@Suite struct PrivateDirectoryTests {
  let directory = TemporaryDirectory()

  @Test func missingDirectories_areCreatedPrivate() throws {
    let made = try PrivateDirectory(path: directory.path("a/b/lanyard/"))
    #expect(made.path == directory.path("a/b/lanyard"))
    for name in ["a", "a/b", "a/b/lanyard"] { #expect(directory.mode(name) == 0o700) }
    try made.check()
    _ = try PrivateDirectory(path: made.path)
  }

  @Test(arguments: [0o755, 0o750, 0o701, 0o770, 0o720] as [mode_t])
  func privateDirectoryOpenToOthers_isRefused(mode: mode_t) {
    mkdir(directory.path("state"), 0o700)
    chmod(directory.path("state"), mode)
    #expect(throws: PrivateDirectory.Failure.openToOthers(mode: mode)) {
      try PrivateDirectory(path: directory.path("state"))
    }
    #expect(directory.mode("state") == mode)
  }

  @Test(arguments: ["", "/", "//"]) func symlinkedPrivateDirectory_isRefused(end: String) {
    mkdir(directory.path("real"), 0o700)
    symlink("real", directory.path("state"))
    #expect(throws: PrivateDirectory.Failure.symlink) { try PrivateDirectory(path: directory.path("state") + end) }
    symlink("nowhere", directory.path("dangling"))
    #expect(throws: PrivateDirectory.Failure.symlink) { try PrivateDirectory(path: directory.path("dangling") + end) }
  }

  @Test func fileInPlaceOfThePrivateDirectory_isRefused() {
    directory.write([], to: "state")
    #expect(throws: PrivateDirectory.Failure.notADirectory) { try PrivateDirectory(path: directory.path("state")) }
    #expect(throws: PrivateDirectory.Failure.cannotCreate(errno: ENOTDIR)) {
      try PrivateDirectory(path: directory.path("state/below"))
    }
    #expect(throws: PrivateDirectory.Failure.cannotCreate(errno: ENOENT)) { try PrivateDirectory(path: "") }
  }

  @Test(.enabled(if: geteuid() == 0, "giving a directory away takes root"))
  func privateDirectoryOfAnotherUser_isRefused() {
    mkdir(directory.path("state"), 0o700)
    chown(directory.path("state"), 12_345, 12_345)
    #expect(throws: PrivateDirectory.Failure.foreignOwner) { try PrivateDirectory(path: directory.path("state")) }
  }

  @Test func privateDirectoryOpenedLater_isNoticed() throws {
    let state = try PrivateDirectory(path: directory.path("state"))
    chmod(state.path, 0o755)
    #expect(throws: PrivateDirectory.Failure.openToOthers(mode: 0o755)) { try state.check() }
  }
}
