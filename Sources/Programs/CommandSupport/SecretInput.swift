internal import FileRules
internal import Glibc

/// A secret from a person, a file or a pipe. `deinit` wipes its bytes; no String is made of it.
public struct SecretInput: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  private var count = 0

  /// The largest input: the agent's limit for a line.
  public static let largestBytes = 1 << 20

  private init(capacity: Int) { memory = .allocate(byteCount: capacity, alignment: 8) }

  /// Copies text that is no secret.
  public init(copying text: String) {
    var text = text
    self.init(capacity: max(1, text.utf8.count))
    text.withUTF8 { memory.copyBytes(from: $0) }
    count = text.utf8.count
  }

  /// Copies a part of other input.
  public init(copying bytes: Slice<UnsafeRawBufferPointer>) {
    self.init(capacity: max(1, bytes.count))
    memory.copyBytes(from: bytes)
    count = bytes.count
  }

  deinit {
    explicit_bzero(memory.baseAddress!, memory.count)
    memory.deallocate()
  }

  public var isEmpty: Bool { count == 0 }

  public func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
  }

  /// True if both hold the same bytes.
  public borrowing func equals(_ other: borrowing SecretInput) -> Bool {
    count == other.count && memcmp(memory.baseAddress!, other.memory.baseAddress!, count) == 0
  }

  /// Asks for the new secret again: a slip in unseen typing would lock the person out.
  ///
  /// - Throws: a usage failure if the two differ.
  public borrowing func confirm() throws(CommandFailure) {
    let second = try Self.ask("Once more: ")
    guard equals(second) else { throw .usage("The two entries are not the same. Nothing was changed; try again.") }
  }

  /// Changes the bytes in place.
  public mutating func withMutableBytes(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(UnsafeMutableRawBufferPointer(rebasing: memory[..<count]))
  }

  /// A whole file, or all of stdin for `-`.
  public static func contents(of path: String) throws(CommandFailure) -> SecretInput {
    guard path != "-" else { return try read(STDIN_FILENO, of: "stdin") }
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw .usage("\(path) can't be read: \(SystemError.message(errno)).") }
    defer { close(file) }
    return try read(file, of: path)
  }

  /// A text of several lines, such as a key, without a byte order mark (`SecretText`).
  public static func text(of path: String) throws(CommandFailure) -> SecretInput {
    var input = try contents(of: path)
    try input.keepText(of: path == "-" ? "stdin" : path, withLines: true)
    return input
  }

  /// A secret of one line, without its newline: from a file or, for `-`, from stdin. A terminal at stdin asks
  /// `question` and does not show what is typed.
  ///
  /// - Parameter takesLines: other input may have line ends within it, as a long line that was wrapped.
  public static func line(
    of path: String, question: String, takesLines: Bool = false
  ) throws(CommandFailure) -> SecretInput {
    var input = path == "-" && Terminal.canAsk ? try ask(question) : try contents(of: path)
    try input.keepText(of: path == "-" ? "stdin" : path)
    guard input.count > 0 else {
      guard path == "-" else { throw .usage("\(path) is empty. Nothing was changed.") }
      guard !Terminal.canAsk else { throw .usage("Nothing was typed. Nothing was changed.") }
      throw .usage(
        "stdin is empty. Nothing was changed.",
        hints: ["This command asks on a terminal. Without one it reads what it would ask for from stdin."])
    }
    guard takesLines || !input.withBytes({ $0.contains(0x0A) || $0.contains(0x0D) }) else {
      throw .usage("\(path == "-" ? "stdin" : path) has several lines, and the secret is one. Nothing was changed.")
    }
    return input
  }

  /// As `line`, but refuses a file that others can read. The mode of a pipe does not count.
  public static func privateLine(of path: String, question: String) throws(CommandFailure) -> SecretInput {
    guard path != "-" else { return try line(of: path, question: question) }
    let file: Int32
    do throws(FileFault) {
      file = try FileRule.passphrase.open(path, followingLinks: true)
    } catch {
      if case .system(let error) = error { throw .usage("\(path) can't be read: \(SystemError.message(error)).") }
      throw .usage(
        "Others can read \(path). Nothing was changed.",
        hints: ["Change its mode: \(PathAdvice.closing(file: path))."])
    }
    defer { close(file) }
    var input = try read(file, of: path)
    try input.keepText(of: path)
    guard input.count > 0 else { throw .usage("\(path) is empty. Nothing was changed.") }
    return input
  }

  /// The first line of an open file; empty if it has none.
  static func firstLine(from file: Int32, of name: String) throws(CommandFailure) -> SecretInput {
    var input = try read(file, of: name, atMost: 65_536)
    if let end = input.memory[..<input.count].firstIndex(of: 0x0A) { input.count = end + 1 }
    try input.keepText(of: name)
    return input
  }

  /// An open file of one line, without its newline.
  static func line(from file: Int32, of name: String, atMost bytes: Int) throws(CommandFailure) -> SecretInput {
    var input = try read(file, of: name, atMost: bytes)
    try input.keepText(of: name)
    return input
  }

  /// Time in which the next line of a pasted text arrives: a terminal sends all of it at once.
  private static let pasteMilliseconds: Int32 = 100

  /// Asks at `/dev/tty` without echo, also if stderr is redirected. Ctrl-C restores the echo and throws.
  ///
  /// - Parameter takesLines: pasted text may have several lines, which are all read.
  public static func ask(_ question: String, takesLines: Bool = false) throws(CommandFailure) -> SecretInput {
    let interruption = try Interruption()
    let own = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    // A process without a controlling terminal may still have one at stdin.
    let (source, output) = own < 0 ? (STDIN_FILENO, STDERR_FILENO) : (own, own)
    var before = termios()
    let isTerminal = tcgetattr(source, &before) == 0
    if isTerminal {
      var silent = before
      // Not canonical: a pasted address may exceed the 4,095 bytes of a terminal line.
      silent.c_lflag &= ~tcflag_t(ECHO | ICANON)
      tcsetattr(source, TCSAFLUSH, &silent)
    }
    Output.write(question, to: output)
    defer {
      if isTerminal {
        tcsetattr(source, TCSAFLUSH, &before)
        Output.write("\n", to: output)
      }
      if own >= 0 { close(own) }
      interruption.end()
    }
    var input = SecretInput(capacity: 65_536)
    while input.count < input.memory.count {
      var watched = [
        pollfd(fd: source, events: Int16(POLLIN), revents: 0),
        pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&watched, 2, -1) > 0 else { continue }
      if watched[1].revents != 0 { throw Interruption.failure }
      if try input.takeByte(from: source) { continue }
      watched[0].revents = 0
      guard takesLines, input.count < input.memory.count, poll(&watched, 1, pasteMilliseconds) > 0 else { break }
      input.append(0x0A)
    }
    return input
  }

  /// Reads one typed byte; false at the end of the line.
  private mutating func takeByte(from source: Int32) throws(CommandFailure) -> Bool {
    guard Glibc.read(source, memory.baseAddress! + count, 1) == 1 else {
      // The terminal was closed.
      guard count > 0 else { throw Interruption.failure }
      return false
    }
    switch memory[count] {
    case 0x0A, 0x0D: return false
    case 0x04 where count == 0: throw Interruption.failure  // Ctrl-D
    case 0x04: return false
    case 0x08, 0x7F: count = max(0, count - 1)  // backspace
    case 0x15: count = 0  // Ctrl-U
    default: count += 1
    }
    return true
  }

  private mutating func append(_ byte: UInt8) {
    memory[count] = byte
    count += 1
  }

  /// Keeps what `SecretText` says is the text. `name`: for people.
  private mutating func keepText(of name: String, withLines: Bool = false) throws(CommandFailure) {
    let text: Range<Int>
    do throws(SecretText.Problem) {
      text = try withBytes { (bytes) throws(SecretText.Problem) in
        try SecretText.range(in: bytes, keepingLines: withLines)
      }
    } catch {
      throw .usage("\(name) \(error.words). Nothing was changed.")
    }
    memmove(memory.baseAddress!, memory.baseAddress! + text.lowerBound, text.count)
    explicit_bzero(memory.baseAddress! + text.count, count - text.count)
    count = text.count
  }

  private static func read(
    _ descriptor: Int32, of name: String, atMost bytes: Int = largestBytes
  ) throws(CommandFailure) -> SecretInput {
    var input = SecretInput(capacity: bytes + 1)
    while input.count < input.memory.count {
      let read = Glibc.read(descriptor, input.memory.baseAddress! + input.count, input.memory.count - input.count)
      if read < 0, errno == EINTR { continue }
      guard read >= 0 else { throw .usage("\(name) can't be read: \(SystemError.message(errno)).") }
      guard read > 0 else { return input }
      input.count += read
    }
    throw .usage("\(name) holds more than \(bytes) bytes.")
  }
}
