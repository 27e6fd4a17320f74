internal import Glibc

/// The agent that holds a state directory, as its lock's file tells it: a line for each property.
public struct StateHolder: Sendable, Equatable {
  public let processID: Int32
  /// Nil for an agent that serves its standard input.
  public let socket: String?
  /// It serves no client any more, and waits for exchanges on their way.
  public let isEnding: Bool

  private static let ending = "ending"
  /// A process id, the path of a unix socket and a word, in bytes.
  private static let longestNote = 256

  package init(processID: Int32, socket: String?, isEnding: Bool = false) {
    (self.processID, self.socket, self.isEnding) = (processID, socket, isEnding)
  }

  /// Nil if the note does not tell a process. A line that does not end was being written, and is ignored.
  package init?(note: String) {
    let lines = note.split(separator: "\n", omittingEmptySubsequences: false)
    guard let processID = Int32(lines[0]) else { return nil }
    let others = lines.dropFirst().dropLast()
    self.init(
      processID: processID, socket: others.first { $0.hasPrefix("/") }.map(String.init),
      isEnding: others.contains { $0 == Self.ending })
  }

  /// The holder that the file of the lock names, or named last.
  package init?(in file: Int32) {
    var bytes = [UInt8](repeating: 0, count: Self.longestNote)
    let count = pread(file, &bytes, bytes.count, 0)
    guard count > 0 else { return nil }
    self.init(note: String(decoding: bytes[..<count], as: UTF8.self))
  }

  package var note: String {
    ["\(processID)", socket, isEnding ? Self.ending : nil].compactMap { $0.map { "\($0)\n" } }.joined()
  }

  /// The file of the lock.
  package static func lock(in stateDirectory: String) -> String { "\(stateDirectory)/lock" }
}
