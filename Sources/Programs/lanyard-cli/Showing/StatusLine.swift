import CommandSupport
import Glibc

/// One line on the terminal that changes while something is awaited. Where there is no terminal, its first words are
/// said once.
struct StatusLine {
  private var isShown = false
  private let isLive = Terminal.showsNotes

  /// How often it is worth being drawn again, in milliseconds; -1 if never.
  var rhythm: Int32 { isLive ? 1_000 : -1 }

  mutating func show(_ words: String) {
    if isLive {
      Output.write("\r\u{1B}[K" + words.prefix(Terminal.columns - 1), to: STDERR_FILENO)
    } else if !isShown {
      Output.note(words)
    }
    isShown = true
  }

  mutating func clear() {
    if isLive, isShown { Output.write("\r\u{1B}[K", to: STDERR_FILENO) }
    isShown = false
  }
}
