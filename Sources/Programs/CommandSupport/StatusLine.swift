internal import Glibc

/// A line on the terminal that changes while a command waits. Without a terminal it prints its first text once.
public struct StatusLine {
  private var isShown = false
  private let isLive = Terminal.showsNotes

  public init() {}

  /// The interval between updates in milliseconds; -1 without a terminal.
  public var rhythm: Int32 { isLive ? 1_000 : -1 }

  public mutating func show(_ text: String) {
    if isLive {
      Output.write("\r\u{1B}[K" + TextWidth.cut(Text.shown(text), to: Terminal.columns - 1), to: STDERR_FILENO)
    } else if !isShown {
      Output.note(text)
    }
    isShown = true
  }

  public mutating func clear() {
    if isLive, isShown { Output.write("\r\u{1B}[K", to: STDERR_FILENO) }
    isShown = false
  }
}
