import CommandSupport

/// Colour and weight, where the terminal has them and the person wants them.
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

  /// How a state of an account is to be taken.
  static func state(_ state: String) -> Style {
    switch state {
    case "active": .good
    case "offlineStale", "interactionRequired": .notice
    case "signedOut": .faint
    default: .bad
    }
  }
}
