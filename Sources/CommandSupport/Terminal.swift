internal import Glibc

/// The terminal that a person may be at.
public enum Terminal {
  /// Answers are read by a person.
  public static var showsAnswers: Bool { isatty(STDOUT_FILENO) == 1 }
  /// Words beside the answer are read by a person.
  public static var showsNotes: Bool { isatty(STDERR_FILENO) == 1 }
  /// A person can be asked.
  public static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && showsNotes }

  /// Colour on stdout: on a terminal that knows it, unless `NO_COLOR` is set (no-color.org).
  public static var hasColour: Bool {
    showsAnswers && Environment.value("NO_COLOR") == nil && Environment.value("TERM") != "dumb"
  }

  /// Characters in a line of the screen; 80 if that can't be known.
  public static var columns: Int {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
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
}
