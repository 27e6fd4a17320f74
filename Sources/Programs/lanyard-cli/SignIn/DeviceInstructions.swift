import CommandSupport
import JSONRPC

/// The page and the code of a device sign-in (RFC 8628 §3.3), printed to stderr.
struct DeviceInstructions {
  private let page: String
  private let pageWithCode: String?
  private let code: String

  /// Nil if the answer holds no code.
  init?(_ result: JSONNode) {
    guard let page = result["verificationUri"]?.string, let code = result["userCode"]?.string else { return nil }
    self.page = Text.shown(page)
    self.code = Text.shown(code)
    pageWithCode = result["verificationUriComplete"]?.string.map { Text.shown($0) }
  }

  func show() { Output.instruction(Terminal.showsNotes ? forTerminal() : plain, isLaidOut: true) }

  /// Without a terminal: plain lines, for a log.
  private var plain: String {
    let text = "On any device, open\n\n  \(page)\n\nand enter the code  \(code)\n"
    return pageWithCode.map { text + "\nOr open this, and compare the code:\n\n  \($0)\n" } ?? text
  }

  // MARK: At a terminal

  /// A QR code and, below it, the code in large letters. A small screen gets less, so that all of it is visible at
  /// once.
  private func forTerminal() -> String {
    let picture = QRCode(pageWithCode ?? page).flatMap { Terminal.columns >= $0.columns ? $0 : nil }
    let large = LargeText.lines(code, columns: Terminal.columns - 4)
    let room = Terminal.lines - 1  // the line below that counts down
    let full = lines(picture: picture, large: large)
    guard full.count > room else { return full.joined(separator: "\n") }
    let line = "Scan this, or open \(page) and enter the code "
    if let picture, picture.lines + (line.count + code.count - 1) / Terminal.columns + 1 <= room {
      return line + bold(code) + "\n" + drawn(picture)
    }
    return lines(picture: nil, large: large).joined(separator: "\n")
  }

  private func lines(picture: QRCode?, large: [String]?) -> [String] {
    var lines: [String] = []
    if let picture {
      lines = [pageWithCode == nil ? "Scan this" : "Scan this, and compare the code:", ""]
      lines += drawn(picture).split(separator: "\n").map(String.init)
      lines += ["", "Or open this on any device"]
    } else {
      lines = ["Open this on any device"]
    }
    lines += ["", "  \(page)", "", "and enter the code", ""]
    if let large { lines += large.map { "  " + bold($0) } + [""] }
    lines += ["  \(bold(code))", ""]
    if picture == nil, let pageWithCode {
      lines += ["Or open this, and compare the code:", "", "  \(pageWithCode)", ""]
    }
    return lines
  }

  private func drawn(_ picture: QRCode) -> String { picture.drawn(inColour: Terminal.notesHaveColour) }

  private func bold(_ text: String) -> String { Terminal.notesHaveColour ? "\u{1B}[1m\(text)\u{1B}[0m" : text }
}
