internal import CPlatform
internal import Glibc

/// `xdg-open`, as the broker starts it, with an environment that holds only what a desktop needs.
public struct BrowserProgram: Sendable {
  private static let path = "/usr/bin/xdg-open"
  private static let passedOn = [
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "LANG", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_CURRENT_DESKTOP",
    "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE",
  ]

  public init() {}

  /// Opens a page of the agent's own, and no other address (`ForwardingPage`).
  public func perform(_ request: BrokerRequest) {
    guard Self.isForwardingPage(request.text), Self.start(request.text) != nil else { return }
    request.answer("started")
    // Nothing waits for it: a browser that stays in the foreground must not hold a place of the broker. `init` reaps it.
  }

  /// `http://127.0.0.1:PORT/NAME`
  package static func isForwardingPage(_ url: String) -> Bool {
    let start = "http://127.0.0.1:"
    guard url.hasPrefix(start) else { return false }
    let parts = url.dropFirst(start.count).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let port = UInt16(parts[0]), port > 0, "\(port)" == parts[0], !parts[1].isEmpty else {
      return false
    }
    return parts[1].utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
  }

  private static func start(_ url: String) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    guard lanyard_spawn_closes_others(&actions) == 0 else { return nil }
    var child = pid_t()
    let started = withChildAttributes(Int16(POSIX_SPAWN_SETPGROUP)) { attributes in
      withCStrings(["xdg-open", url]) { argv in
        withCStrings(childEnvironment(passedOn)) { envp in posix_spawn(&child, path, &actions, attributes, argv, envp) }
      }
    }
    return started == 0 ? child : nil
  }
}
