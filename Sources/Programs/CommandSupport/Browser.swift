internal import CPlatform
internal import Glibc

/// Opens pages in the person's browser.
public enum Browser {
  /// True if a display and `xdg-open` exist.
  public static var canOpen: Bool {
    (Environment.value("DISPLAY") ?? Environment.value("WAYLAND_DISPLAY")) != nil
      && AgentPaths.program("xdg-open") != nil
  }

  /// Opens a page; false if that fails. Accepts `http` and `https` only: the address comes from a provider, which must
  /// not open files or start other programs.
  public static func open(_ address: String) -> Bool {
    guard canOpen, address.hasPrefix("https://") || address.hasPrefix("http://"),
      let program = AgentPaths.program("xdg-open")
    else { return false }
    return CStrings.with([program, address]) { arguments in
      lanyard_start_detached(program, arguments, UnsafePointer(environ), -1, -1) == 0
    }
  }
}
