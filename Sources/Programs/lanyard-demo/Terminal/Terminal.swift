import Foundation

/// Prints lines without a buffer, so that a program that waits for the first line gets it at once.
enum Terminal {
  static func print(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }

  static func complain(_ line: String) { try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8)) }
}
