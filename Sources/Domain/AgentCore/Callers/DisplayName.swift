/// A program's name as the kernel tells it, made fit to be shown. Whoever starts a program chooses its name, so that it
/// decides nothing, and may not draw on a terminal either.
public enum DisplayName {
  /// TASK_COMM_LEN is 16; a file's name is longer, and this much of it says enough.
  public static let longest = 64

  /// The first line of these bytes, in one line of at most `longest` characters; nil if nothing is left of it.
  public static func shown(_ bytes: some Sequence<UInt8>) -> String? {
    let line = bytes.prefix { $0 != 0x0A && $0 != 0 }
    var shown = ""
    for scalar in String(decoding: line, as: UTF8.self).unicodeScalars.prefix(longest) {
      shown.unicodeScalars.append(isPlain(scalar) ? scalar : "?")
    }
    return shown.contains { $0 != " " && $0 != "?" } ? shown : nil
  }

  /// Letters, marks, digits and signs; no controls, no line or paragraph ends, and nothing that turns the direction of
  /// what follows or can't be seen.
  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }
}
