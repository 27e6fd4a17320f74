internal import JSONRPC

/// Makes a program name from the kernel safe to display. A program chooses its own name, so the name decides nothing
/// and must not control a terminal.
public enum DisplayName {
  /// Maximum length in code points. `TASK_COMM_LEN` is 16; the file name of an executable may be longer.
  public static let longest = 64

  /// The first line of `bytes`, cut to `longest` characters, with unsafe ones replaced by `?`; nil if only spaces and
  /// `?` remain.
  public static func shown(_ bytes: some Sequence<UInt8>) -> String? {
    let line = bytes.prefix { $0 != 0x0A && $0 != 0 }
    var shown = ""
    for scalar in String(decoding: line, as: UTF8.self).unicodeScalars.prefix(longest) {
      shown.unicodeScalars.append(scalar.isHidden ? "?" : scalar)
    }
    return shown.contains { $0 != " " && $0 != "?" } ? shown : nil
  }
}
