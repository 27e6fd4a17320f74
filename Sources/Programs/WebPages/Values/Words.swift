/// Words of the contract as a person reads them.
enum Words {
  /// `sign in again` for `signInAgain`; what others said, such as `invalid_scope`, stays.
  static func spaced(_ name: String) -> String {
    var words = ""
    var wasLower = false
    for character in name {
      if character.isUppercase, wasLower { words += " " }
      words += wasLower && character.isUppercase ? character.lowercased() : String(character)
      wasLower = character.isLowercase
    }
    return words
  }

  /// `1 request`, `2 requests`
  static func count(_ count: Int64, _ one: String, _ many: String? = nil) -> String {
    "\(count.grouped) \(count == 1 ? one : many ?? one + "s")"
  }

  static func count(_ count: Int, _ one: String, _ many: String? = nil) -> String {
    Self.count(Int64(count), one, many)
  }

  /// `a`, `a and b`, `a, b and 3 more`
  static func list(_ names: [String], most: Int = 3) -> String {
    var shown = names
    if names.count > most + 1 { shown = names.prefix(most) + ["\(names.count - most) more"] }
    guard let last = shown.last, shown.count > 1 else { return shown.first ?? "" }
    return shown.dropLast().joined(separator: ", ") + " and " + last
  }

  /// The first letter of a sentence.
  static func sentence(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
}
