internal import CPlatform
internal import Glibc

/// Opens pages in the person's browser.
public enum Browser {
  /// True if a display and `xdg-open` exist.
  public static var canOpen: Bool {
    (Environment.value("DISPLAY") ?? Environment.value("WAYLAND_DISPLAY")) != nil
      && AgentPaths.program("xdg-open") != nil
  }

  /// False for an address that could open files or start other programs: it comes from a provider.
  public static func isWebAddress(_ address: String) -> Bool {
    address.hasPrefix("https://") || address.hasPrefix("http://")
  }

  /// Opens a page; false if that fails. Every user of the machine can read its address.
  public static func open(_ address: String) -> Bool {
    guard canOpen, isWebAddress(address), let program = AgentPaths.program("xdg-open") else { return false }
    return CStrings.with([program, address]) { arguments in
      lanyard_start_detached(program, arguments, UnsafePointer(environ), -1, -1) == 0
    }
  }
}
