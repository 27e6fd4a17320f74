internal import Glibc

/// What helps with a file or directory that others can use: commands that a shell takes as they are.
public enum PathAdvice {
  /// The command after which only this user may read or write a file.
  public static func closing(file path: String) -> String { "`chmod 600 \(word(path))`" }

  /// The same for a directory.
  ///
  /// - Parameter otherwise: the advice for one that the rest of the system may use, as `/tmp` and `/etc`: with another
  ///   mode it would serve no one else.
  public static func closing(directory path: String, otherwise: String) -> String {
    isOfUserAlone(path) ? "`chmod 700 \(word(path))`" : otherwise
  }

  /// The command that makes a directory that only this user may enter.
  public static func making(directory path: String) -> String { "`mkdir -p -m 700 \(word(path))`" }

  /// True for a directory that, by its place or its name, is meant for this user or for Lanyard only: it may be closed,
  /// moved or given away.
  public static func isOfUserAlone(_ path: String) -> Bool {
    let names = path.split(separator: "/")
    guard path.hasPrefix("/"), !names.contains(".."), !names.contains(".") else { return false }
    // `lanyard` itself, or `lanyard/anchors`.
    if names.suffix(2).contains("lanyard") { return true }
    let places = [Environment.value("HOME"), Environment.value("XDG_RUNTIME_DIR"), "/run/user/\(geteuid())"]
    return places.contains { place in
      guard let place else { return false }
      let above = place.split(separator: "/")
      return !above.isEmpty && names.count > above.count && names.starts(with: above)
    }
  }

  private static func word(_ path: String) -> String {
    // No option.
    ErrorMessages.shellWord(path.hasPrefix("-") ? "./\(path)" : path)
  }
}
