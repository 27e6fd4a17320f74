internal import Glibc
public import JSONRPC

/// Where words go: the answer to stdout, everything else to stderr.
public enum Output {
  /// Writes all bytes, however often the descriptor takes only some. False if nobody reads any more.
  public static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let written = Glibc.write(descriptor, rest.baseAddress!, rest.count)
      if written > 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[written...])
      } else if written < 0, errno == EAGAIN {
        var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&wait, 1, -1)
      } else if !(written < 0 && errno == EINTR) {
        return false
      }
    }
    return true
  }

  /// Writes text as it is.
  public static func write(_ text: String, to descriptor: Int32) {
    var text = text
    _ = text.withUTF8 { write(UnsafeRawBufferPointer($0), to: descriptor) }
  }

  /// A line of the answer.
  public static func answer(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

  /// A line of the answer that is JSON, as it came.
  public static func answer(json: UnsafeRawBufferPointer) {
    guard write(json, to: STDOUT_FILENO) else { return }
    write("\n", to: STDOUT_FILENO)
  }

  /// A secret alone on a line, from the agent's line straight to stdout or a file: it passes through no String, and the
  /// bytes between are wiped.
  public static func secretLine(_ secret: JSONNode, to descriptor: Int32? = nil) throws(CommandFailure) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: secret.textCapacity + 1, alignment: 8)
    defer {
      explicit_bzero(memory.baseAddress!, memory.count)
      memory.deallocate()
    }
    let count = secret.copyText(into: memory)
    memory[count] = UInt8(ascii: "\n")
    guard write(UnsafeRawBufferPointer(rebasing: memory[...count]), to: descriptor ?? STDOUT_FILENO) else {
      throw CommandFailure(.other, name: "output", "The answer could not be written: \(SystemError.words(errno)).")
    }
  }

  /// A line beside the answer.
  public static func note(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

  /// A warning beside the answer.
  public static func warning(_ line: String) { note("lanyard: \(line)") }

  /// Tells a failure: one JSON object for programs, or sentences for people.
  public static func tell(_ failure: CommandFailure, json: Bool) {
    if json || failure.isRaw {
      note(failure.wire ?? failure.json)
    } else {
      note("lanyard: \(Text.shown(failure.message))")
      for hint in failure.hints { note("  \(Text.shown(hint))") }
    }
  }
}
