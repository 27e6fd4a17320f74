extension Int64 {
  /// With a thin space between thousands.
  var grouped: String {
    let digits = String(magnitude)
    guard digits.count > 4 else { return String(self) }
    var text = self < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "\u{202F}" }
      text.append(digit)
    }
    return text
  }
}
