import CommandSupport

/// Colour and weight of text, if `Terminal.hasColour`.
enum Style {
  case bold, faint, good, notice, bad

  private static let isOn = Terminal.hasColour

  private var code: String {
    switch self {
    case .bold: "1"
    case .faint: "2"
    case .good: "32"
    case .notice: "33"
    case .bad: "31"
    }
  }

  func callAsFunction(_ text: String) -> String {
    Self.isOn && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }

  /// The style of an account's state.
  static func state(_ state: String) -> Style {
    switch state {
    case "active": .good
    case "offlineStale", "interactionRequired": .notice
    case "signedOut": .faint
    default: .bad
    }
  }
}
