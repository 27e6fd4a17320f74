import Foundation
import Synchronization
import Testing

import HTTPAdapter

@Suite(.timeLimit(.minutes(1))) struct AuthorityFilesTests {
  private let path = FileManager.default.temporaryDirectory.appendingPathComponent("ca-\(UUID().uuidString)").path

  private func write(_ text: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  @Test func requestsAtTheSameTime_shareOneReading() async throws {
    try write("one")
    defer { unlink(path) }
    let readings = Mutex(0)
    let files = AuthorityFiles { path in
      readings.withLock { $0 += 1 }
      for _ in 0..<100 { await Task.yield() }
      return FileManager.default.contents(atPath: path).map { [UInt8]($0) }
    }
    let read = await withTaskGroup(of: [UInt8]?.self) { group in
      for _ in 0..<100 { group.addTask { [path] in await files.certificates(of: path) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(read.allSatisfy { $0 == Array("one".utf8) } && read.count == 100)
    #expect(readings.withLock { $0 } == 1)
  }

  @Test func changedFile_isReadAgain() async throws {
    let files = AuthorityFiles { path in FileManager.default.contents(atPath: path).map { [UInt8]($0) } }
    #expect(await files.certificates(of: path) == nil)
    try write("one")
    defer { unlink(path) }
    #expect(await files.certificates(of: path) == Array("one".utf8))
    try write("two")
    #expect(await files.certificates(of: path) == Array("two".utf8))
    unlink(path)
    #expect(await files.certificates(of: path) == nil)
  }

  @Test func fileThatCantBeRead_isTriedAgain() async throws {
    try write("one")
    defer { unlink(path) }
    let answers = Mutex<[[UInt8]?]>([nil, [1]])
    let files = AuthorityFiles { _ in answers.withLock { $0.removeFirst() } }
    #expect(await files.certificates(of: path) == nil)
    #expect(await files.certificates(of: path) == [1])
  }

  @Test func readingsOfManyFiles_waitForEachOther() async throws {
    let counts = Mutex((now: 0, most: 0))
    let files = AuthorityFiles { _ in
      counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      for _ in 0..<50 { await Task.yield() }
      counts.withLock { $0.now -= 1 }
      return [1]
    }
    let paths = (0..<40).map { "\(path)-\($0)" }
    for path in paths { #expect(FileManager.default.createFile(atPath: path, contents: Data())) }
    defer { paths.forEach { unlink($0) } }
    await withTaskGroup(of: [UInt8]?.self) { group in
      for path in paths { group.addTask { await files.certificates(of: path) } }
      for await certificates in group { #expect(certificates == [1]) }
    }
    #expect((1...8).contains(counts.withLock { $0.most }))
  }
}
