import Foundation
import Synchronization

/// Prints lines without a buffer, so that a program that waits for the first line gets it at once.
enum Terminal {
  /// The error of the first line that standard output did not take; 0 without one.
  private static let lost = Atomic<Int32>(0)

  static var takesNothing: Bool { lost.load(ordering: .relaxed) != 0 }

  /// Before anything is opened: it would get the number of a standard output that is closed (`>&-`), and the lines.
  static func begin() {
    guard fcntl(1, F_GETFD) < 0 else { return }
    lost.store(EBADF, ordering: .relaxed)
    let filler = open("/dev/null", O_WRONLY)
    if filler >= 0, filler != 1 {
      dup2(filler, 1)
      close(filler)
    }
  }

  static func print(_ line: String) {
    do {
      try FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    } catch {
      let code = ((error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError)?.code ?? Int(errno)
      _ = lost.compareExchange(expected: 0, desired: Int32(clamping: code), ordering: .relaxed)
    }
  }

  /// The exit status of a program whose lines may not have been written: then a failure, which is told as by `lanyard`. A
  /// reader that left has what it wanted.
  static func status(after status: Int32) -> Int32 {
    let code = lost.load(ordering: .relaxed)
    guard code != 0 else { return status }
    if code != EPIPE { complain("lanyard: The answer could not be written: \(String(cString: strerror(code))).") }
    return status == 0 ? 1 : status
  }

  /// Characters in a line; 80 in a pipe, or if unknown.
  static var columns: Int {
    var size = winsize()
    guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  static func complain(_ line: String) { try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8)) }
}
