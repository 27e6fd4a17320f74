internal import Glibc

/// The terminal of this process, if it has one.
public enum Terminal {
  /// stdout is a terminal.
  public static var showsAnswers: Bool { isatty(STDOUT_FILENO) == 1 }
  /// stderr is a terminal.
  public static var showsNotes: Bool { isatty(STDERR_FILENO) == 1 }
  /// stdin and stderr are terminals: a question on stderr can be answered.
  public static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && showsNotes }

  /// stdin is a terminal. `SecretInput.ask` asks at the terminal even if stderr is redirected.
  public static var canType: Bool { isatty(STDIN_FILENO) == 1 }

  /// Colour on stdout: on a terminal that supports it, unless `NO_COLOR` is set (no-color.org).
  public static var hasColour: Bool { showsAnswers && knowsColour }
  /// Colour on stderr.
  public static var notesHaveColour: Bool { showsNotes && knowsColour }

  private static var knowsColour: Bool {
    Environment.value("NO_COLOR") == nil && Environment.value("TERM") != "dumb"
  }

  /// Characters in a line of the screen; 80 if unknown.
  public static var columns: Int { size.columns }
  /// Lines on the screen; 24 if unknown.
  public static var lines: Int { size.lines }

  /// Characters in a line of the screen that shows stdout; 80 if unknown.
  public static var answerColumns: Int { size(of: STDOUT_FILENO).columns }

  private static var size: (columns: Int, lines: Int) { size(of: STDERR_FILENO) }

  private static func size(of descriptor: Int32) -> (columns: Int, lines: Int) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Asks for a line, with echo; nil at the end of the input.
  public static func ask(_ question: String) -> String? {
    Output.write(showsNotes ? Text.fitted(question, columns: columns) : question, to: STDERR_FILENO)
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while true {
      let count = read(STDIN_FILENO, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return line.isEmpty ? nil : String(decoding: line, as: UTF8.self) }
      if byte == 0x0A { return String(decoding: line, as: UTF8.self) }
      line.append(byte)
    }
  }

  /// Drops what was typed and not read: an answer is one to a question that the person has seen.
  public static func forgetTyped() { tcflush(STDIN_FILENO, TCIFLUSH) }

  /// Asks a question; true for `y` or `yes`, false for any other answer and for the end of the input.
  public static func confirm(_ question: String) -> Bool {
    let answer = ask(question + " [y/N] ")?.lowercased().filter { !$0.isWhitespace }
    return answer == "y" || answer == "yes"
  }
}
