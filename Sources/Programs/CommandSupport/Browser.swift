internal import CPlatform
internal import Glibc

/// The person's browser.
public enum Browser {
  /// There is a screen on which one could open.
  public static var canOpen: Bool {
    (Environment.value("DISPLAY") ?? Environment.value("WAYLAND_DISPLAY")) != nil
      && AgentPaths.program("xdg-open") != nil
  }

  /// Opens a page; false if that can't be done. A page of any other kind than the web's is not opened: the address came
  /// from a provider, and `file:` or a scheme of some program must not be run by it.
  public static func open(_ address: String) -> Bool {
    guard canOpen, address.hasPrefix("https://") || address.hasPrefix("http://"),
      let program = AgentPaths.program("xdg-open")
    else { return false }
    return CStrings.with([program, address]) { arguments in
      lanyard_start_detached(program, arguments, UnsafePointer(environ), -1, -1) == 0
    }
  }
}
