import CommandSupport
import Glibc

/// A line on the terminal that changes while a command waits. Without a terminal it prints its first text once.
struct StatusLine {
  private var isShown = false
  private let isLive = Terminal.showsNotes

  /// The interval between updates in milliseconds; -1 without a terminal.
  var rhythm: Int32 { isLive ? 1_000 : -1 }

  mutating func show(_ text: String) {
    if isLive {
      Output.write("\r\u{1B}[K" + text.prefix(Terminal.columns - 1), to: STDERR_FILENO)
    } else if !isShown {
      Output.note(text)
    }
    isShown = true
  }

  mutating func clear() {
    if isLive, isShown { Output.write("\r\u{1B}[K", to: STDERR_FILENO) }
    isShown = false
  }
}
