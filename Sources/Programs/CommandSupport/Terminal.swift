internal import Glibc

/// The terminal that a person may be at.
public enum Terminal {
  /// Answers are read by a person.
  public static var showsAnswers: Bool { isatty(STDOUT_FILENO) == 1 }
  /// Words beside the answer are read by a person.
  public static var showsNotes: Bool { isatty(STDERR_FILENO) == 1 }
  /// A person can be asked in the words on stderr.
  public static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && showsNotes }

  /// A person types what comes on stdin, wherever our words go: the question is asked at the terminal itself.
  public static var canType: Bool { isatty(STDIN_FILENO) == 1 }

  /// Colour on stdout: on a terminal that knows it, unless `NO_COLOR` is set (no-color.org).
  public static var hasColour: Bool { showsAnswers && knowsColour }
  /// Colour on stderr.
  public static var notesHaveColour: Bool { showsNotes && knowsColour }

  private static var knowsColour: Bool {
    Environment.value("NO_COLOR") == nil && Environment.value("TERM") != "dumb"
  }

  /// Characters in a line of the screen; 80 if that can't be known.
  public static var columns: Int { size.columns }
  /// Lines on the screen; 24 if that can't be known.
  public static var lines: Int { size.lines }

  private static var size: (columns: Int, lines: Int) {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Asks for a line in plain sight; nil at the end of the input.
  public static func ask(_ question: String) -> String? {
    Output.write(question, to: STDERR_FILENO)
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

  /// Asks a question that is answered by yes or no; whatever is not a yes is a no, and so is the end of the input.
  public static func confirm(_ question: String) -> Bool {
    let answer = ask(question + " [y/N] ")?.lowercased().filter { !$0.isWhitespace }
    return answer == "y" || answer == "yes"
  }
}
