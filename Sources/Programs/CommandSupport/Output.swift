internal import Glibc
public import JSONRPC
internal import Synchronization

/// Prints the answer to stdout and everything else to stderr.
public enum Output {
  /// `--quiet`: notes, warnings and the words about what was done are left out. Failures, questions, the instructions of a
  /// sign-in and what a command was asked for are not.
  public static func beQuiet() { quiet.store(true, ordering: .relaxed) }

  private static let quiet = Atomic(false)
  public static var isQuiet: Bool { quiet.load(ordering: .relaxed) }

  /// Writes all bytes, also to a descriptor that accepts a part at a time. False if writing fails.
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

  /// Writes text unchanged.
  public static func write(_ text: String, to descriptor: Int32) {
    var text = text
    _ = text.withUTF8 { write(UnsafeRawBufferPointer($0), to: descriptor) }
  }

  /// The error of the first write of an answer that failed; 0 without one, or once it was told.
  private static let failure = Atomic<Int32>(0)

  private static func noteAnswer(_ isWritten: Bool) {
    let code = isClosed.load(ordering: .relaxed) ? EBADF : isWritten ? 0 : errno
    if code != 0 { _ = failure.compareExchange(expected: 0, desired: code, ordering: .relaxed) }
  }

  private static let isClosed = Atomic(false)

  /// For a program that stays. It was started without an output (`>&-`): its answers are lost, and nothing that it opens later
  /// may get the number and them.
  ///
  /// - Parameter wasClosed: for a program whose start fills what was closed (`CStart`).
  public static func begin(wasClosed: Bool? = nil) {
    guard wasClosed ?? (fcntl(STDOUT_FILENO, F_GETFD) < 0) else { return }
    isClosed.store(true, ordering: .relaxed)
    guard fcntl(STDOUT_FILENO, F_GETFD) < 0 else { return }
    let filler = open("/dev/null", O_WRONLY | O_CLOEXEC)
    guard filler >= 0, filler != STDOUT_FILENO else { return }
    dup2(filler, STDOUT_FILENO)
    close(filler)
  }

  /// True after a write of an answer failed: a command that would go on by itself ends.
  public static var takesNothing: Bool { failure.load(ordering: .relaxed) != 0 }

  /// Throws if the answer could not be written. For a command with more to do then, and for a secret, which is lost. Every
  /// other command is told of it at its end, by `Process.exit`.
  public static func checkAnswer() throws(CommandFailure) {
    let code = failure.exchange(0, ordering: .relaxed)
    if code != 0 { throw notWritten(code) }
  }

  private static func notWritten(_ code: Int32) -> CommandFailure {
    CommandFailure(.other, name: "output", "The answer could not be written: \(SystemError.message(code)).")
  }

  /// The exit status of a command whose answer may not have been written. A reader that left, as `head` does, has what it
  /// wanted and needs no words; the status is that of a failure, as other programs end then.
  static func status(after status: ExitStatus, json: Bool) -> ExitStatus {
    let code = failure.exchange(0, ordering: .relaxed)
    guard code != 0 else { return status }
    if code != EPIPE { tell(notWritten(code), json: json) }
    return status == .success ? .other : status
  }

  /// Bytes of the answer, unchanged.
  public static func answer(bytes: UnsafeRawBufferPointer) { noteAnswer(write(bytes, to: STDOUT_FILENO)) }

  /// Text of the answer, unchanged, with its line ends.
  public static func answer(laidOut text: String) {
    var text = text
    text.withUTF8 { answer(bytes: UnsafeRawBufferPointer($0)) }
  }

  /// A line of the answer.
  public static func answer(_ line: String) { answer(laidOut: line + "\n") }

  /// Lines of the answer that are sentences: on a terminal, long ones are broken between words.
  public static func answer(text: String) {
    answer(Terminal.showsAnswers ? Text.fitted(text, columns: Terminal.answerColumns) : text)
  }

  /// Lines on stdout about what the command did, unless it is quiet. Its exit status says the same to a program, also where they
  /// can't be written.
  /// `isRecord`: a line that is kept or copied, with a path or with counts, is not broken.
  public static func done(_ text: String, isRecord: Bool = false) {
    guard !isQuiet else { return }
    write(
      (isRecord || !Terminal.showsAnswers ? text : Text.fitted(text, columns: Terminal.answerColumns)) + "\n",
      to: STDOUT_FILENO)
  }

  /// A line of the answer: JSON, with the characters escaped that could steer a terminal.
  public static func answer(json: UnsafeRawBufferPointer) {
    noteAnswer(write(json: json, to: STDOUT_FILENO))
    answer("")
  }

  /// The same for JSON in a text.
  public static func answer(json: String) {
    var json = json
    json.withUTF8 { answer(json: UnsafeRawBufferPointer($0)) }
  }

  /// Writes JSON. Names come from providers, so that C1 and DEL are always escaped, and other hidden characters on a
  /// terminal; outside of strings JSON has none of them (RFC 8259 §7). Copies nothing: the JSON may hold a token.
  static func write(json: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
    let isTerminal = isatty(descriptor) == 1
    var (start, index) = (0, 0)
    while index < json.count {
      guard let found = SteeringCharacter(in: json, at: index), found.isControl || isTerminal else {
        index += 1
        continue
      }
      guard write(UnsafeRawBufferPointer(rebasing: json[start..<index]), to: descriptor) else { return false }
      var escaped = found.escaped
      guard escaped.withUTF8({ write(UnsafeRawBufferPointer($0), to: descriptor) }) else { return false }
      index += found.length
      start = index
    }
    return write(UnsafeRawBufferPointer(rebasing: json[start...]), to: descriptor)
  }

  /// Prints a secret on a line of its own to stdout or `descriptor`. Makes no String of it and wipes the copy.
  public static func secretLine(_ secret: JSONNode, to descriptor: Int32? = nil) throws(CommandFailure) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: secret.textCapacity + 1, alignment: 8)
    defer {
      explicit_bzero(memory.baseAddress!, memory.count)
      memory.deallocate()
    }
    let count = secret.copyText(into: memory)
    memory[count] = UInt8(ascii: "\n")
    guard write(UnsafeRawBufferPointer(rebasing: memory[...count]), to: descriptor ?? STDOUT_FILENO) else {
      throw notWritten(errno)
    }
  }

  /// A line of JSON on stderr.
  public static func note(json: String) {
    var text = json + "\n"
    _ = text.withUTF8 { write(json: UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
  }

  /// A line on stderr, unless the command is quiet.
  public static func note(_ line: String) {
    if !isQuiet { instruction(line) }
  }

  /// Lines on stderr that the person needs to go on; on a terminal, long ones are broken between words. `isLaidOut`:
  /// they fit already, as a picture does.
  public static func instruction(_ text: String, isLaidOut: Bool = false) {
    let fits = isLaidOut || !Terminal.showsNotes
    write((fits ? text : Text.fitted(text, columns: Terminal.columns)) + "\n", to: STDERR_FILENO)
  }

  /// A warning on stderr, unless the command is quiet.
  public static func warning(_ line: String) { note("lanyard: \(line)") }

  /// Prints a failure to stderr: one JSON object, or a message with hints.
  public static func tell(_ failure: CommandFailure, json: Bool) {
    let failure = failure.namingAccount().leavingOutChanges()
    if json {
      note(json: failure.json)
    } else if failure.isRaw, let wire = failure.wire {
      note(json: wire)
    } else {
      let failure = failure.namingByAlias().describingCandidates().suggestingNames()
      instruction("lanyard: \(Text.shown(failure.message))")
      for hint in failure.hints { instruction("  \(Text.shown(hint))") }
    }
  }
}
