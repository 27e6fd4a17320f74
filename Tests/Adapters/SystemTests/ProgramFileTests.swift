import AgentModel
import Foundation
import Glibc
import SystemAdapters
import Testing

/// The clock is a parameter, so that nothing waits.
@Suite struct ProgramFileTests {
  private let folder: URL
  private var path: String { folder.appending(path: "program").path }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "ProgramFile.\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data("a program".utf8).write(to: folder.appending(path: "program"))
  }

  private func isReadable(_ file: ProgramFile) -> Bool {
    var entry = pollfd(fd: file.descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 1_000) == 1
  }

  private let start = BootInstant(milliseconds: 1_000)
  private var end: BootInstant { start + ProgramFile.longestUpgrade }

  @Test func removedProgram_isGoneAfterTheTimeOfAnUpgrade() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = try #require(ProgramFile(path: path))
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
    let file = try #require(ProgramFile(path: path))
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
    #expect(file.look(at: end + ProgramFile.longestUpgrade))
  }

  @Test func programInAFolderThatIsRemoved_isGone() throws {
    let file = try #require(ProgramFile(path: path))
    try FileManager.default.removeItem(at: folder)
    #expect(isReadable(file))
    #expect(!file.look(at: start))
    #expect(file.look(at: end))
  }

  @Test func missingProgram_isNotWatched() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    #expect(ProgramFile(path: path + "-none") == nil)
  }

  @Test func programOfTheseTests_isFound() {
    #expect(ProgramFile.ofThisProcess() != nil)
  }
}
