import AgentModel
import Foundation
import Glibc
import Testing
import WatchedFiles

/// The clock is a parameter, so that nothing waits.
@Suite struct WatchedFileTests {
  private let folder: URL
  private var path: String { folder.appending(path: "program").path }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "WatchedFile.\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data("a program".utf8).write(to: folder.appending(path: "program"))
  }

  private func isReadable(_ file: WatchedFile) -> Bool {
    var entry = pollfd(fd: file.descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 1_000) == 1
  }

  private let start = BootInstant(milliseconds: 1_000)
  private var end: BootInstant { start + WatchedFile.longestUpgrade }

  @Test func removedProgram_isGoneAfterTheTimeOfAnUpgrade() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = try #require(WatchedFile.program(path: path))
    #expect(file.deadline == nil)
    unlink(path)
    #expect(isReadable(file))
    #expect(!file.look(at: start))
    #expect(file.deadline == end)
    #expect(!file.look(at: start + .seconds(29)))
    #expect(file.deadline == end)
    #expect(file.look(at: end))
  }

  @Test func replacedProgram_staysAndIsWatchedAnew() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = try #require(WatchedFile.program(path: path))
    unlink(path)
    #expect(!file.look(at: start))
    try Data("the next version".utf8).write(to: folder.appending(path: "program"))
    #expect(!file.look(at: end))
    #expect(file.deadline == nil)
    // A rename puts the version after it in its place, as `dpkg` does.
    try Data("another".utf8).write(to: folder.appending(path: "new"))
    #expect(rename(folder.appending(path: "new").path, path) == 0)
    #expect(isReadable(file))
    #expect(!file.look(at: end))
    #expect(file.deadline == nil)
    unlink(path)
    #expect(isReadable(file))
    #expect(!file.look(at: end))
    #expect(file.look(at: end + WatchedFile.longestUpgrade))
  }

  @Test func programInAFolderThatIsRemoved_isGone() throws {
    let file = try #require(WatchedFile.program(path: path))
    try FileManager.default.removeItem(at: folder)
    #expect(isReadable(file))
    #expect(!file.look(at: start))
    #expect(file.look(at: end))
  }

  @Test func missingProgram_isNotWatched() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    #expect(WatchedFile.program(path: path + "-none") == nil)
  }

  @Test func programOfTheseTests_isFound() {
    #expect(WatchedFile.programOfThisProcess() != nil)
  }

  @Test func programThatAnUpgradeReplaced_isNotGone() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    // The words of the kernel for a file whose name was removed.
    #expect(!WatchedFile.isGone(program: path))
    #expect(!WatchedFile.isGone(program: path + " (deleted)"))
    unlink(path)
    #expect(WatchedFile.isGone(program: path + " (deleted)"))
    #expect(!WatchedFile.programOfThisProcessIsGone)
  }

  /// Binds a socket at `path`, in the place of the file.
  private func bindSocket() throws -> FileHandle {
    unlink(path)
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0)
    return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  private var endOfSocket: BootInstant { start + WatchedFile.longestWithoutSocket }

  @Test func socketInADirectoryThatIsMadeAnew_isGoneAfterItsTime() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let bound = try bindSocket()
    let file = try #require(WatchedFile.socket(path: path))
    try FileManager.default.removeItem(at: folder)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    #expect(isReadable(file))
    #expect(!file.look(at: start))
    #expect(file.deadline == endOfSocket)
    #expect(file.look(at: endOfSocket))
    withExtendedLifetime(bound) {}
  }

  @Test func socketThatAnotherAgentReplaced_isGoneAfterItsTime() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let bound = try bindSocket()
    let file = try #require(WatchedFile.socket(path: path))
    let second = try bindSocket()
    #expect(isReadable(file))
    #expect(!file.look(at: start))
    #expect(file.look(at: endOfSocket))
    withExtendedLifetime((bound, second)) {}
  }

  @Test func socketThatGetsItsNameBack_staysAndIsWatchedAnew() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let bound = try bindSocket()
    let file = try #require(WatchedFile.socket(path: path))
    #expect(rename(path, path + "-away") == 0)
    #expect(isReadable(file))
    #expect(!file.look(at: start))
    #expect(rename(path + "-away", path) == 0)
    #expect(!file.look(at: endOfSocket))
    #expect(file.deadline == nil)
    #expect(chmod(path, 0o600) == 0)
    #expect(isReadable(file))
    #expect(!file.look(at: endOfSocket))
    #expect(file.deadline == nil)
    withExtendedLifetime(bound) {}
  }
}
