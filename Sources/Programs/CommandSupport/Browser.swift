internal import CPlatform
internal import Glibc

/// Opens pages in the person's browser: the command that was named, else one of `$BROWSER`, else `xdg-open` on a desktop.
public enum Browser {
  /// True if a browser can be started.
  public static func canOpen(_ named: String? = nil) -> Bool { words(named) != nil }

  /// False for an address that could open files or start other programs: it comes from a provider.
  public static func isWebAddress(_ address: String) -> Bool {
    address.hasPrefix("https://") || address.hasPrefix("http://")
  }

  /// Opens a page; false if that fails. Every user of the machine can read its address.
  public static func open(_ address: String, with named: String? = nil) -> Bool {
    guard isWebAddress(address), let words = words(named) else { return false }
    let hasPlace = words.dropFirst().contains { $0.contains("%s") }
    let arguments = words.map { $0 == words[0] ? $0 : replaced($0, by: address) } + (hasPlace ? [] : [address])
    return DetachedProgram.start(words[0], Array(arguments.dropFirst()))
  }

  /// The program's path and its arguments. `$BROWSER` has several commands, separated by colons; `%s` is the address.
  /// No shell takes part.
  private static func words(_ named: String?) -> [String]? {
    if let named { return command(named) }
    let preferred = Environment.value("BROWSER")?.split(separator: ":").lazy.compactMap { command(String($0)) }.first
    if let preferred { return preferred }
    guard (Environment.value("DISPLAY") ?? Environment.value("WAYLAND_DISPLAY")) != nil else { return nil }
    return command("xdg-open")
  }

  private static func command(_ text: String) -> [String]? {
    var words = text.split(separator: " ").map(String.init)
    guard let name = words.first else { return nil }
    let program = name.hasPrefix("/") ? (access(name, X_OK) == 0 ? name : nil) : AgentPaths.program(name)
    guard let program else { return nil }
    words[0] = program
    return words
  }

  private static func replaced(_ word: String, by address: String) -> String {
    var (told, rest) = ("", word[...])
    while let first = rest.first {
      if rest.hasPrefix("%s") {
        told += address
        rest = rest.dropFirst(2)
      } else {
        told.append(first)
        rest = rest.dropFirst()
      }
    }
    return told
  }
}
