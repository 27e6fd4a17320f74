public import AgentPorts
internal import CPlatform
internal import Glibc
internal import LoopbackHTTP
internal import Synchronization
internal import Threads

/// Opens URLs by `xdg-open`, with an environment that holds only what a desktop needs, and keeps them from the other
/// users of this machine (`ForwardingPage`).
public struct DesktopBrowser: BrowserOpener {
  private static let passedOn = [
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "LANG", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_CURRENT_DESKTOP",
    "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE",
  ]

  /// The time that a browser has to start.
  private static let patienceMilliseconds: Int64 = 30_000

  /// Pages that wait for a browser at once; a person opens one or two.
  private static let mostPages = 4
  private let waiting = WaitingPages()

  private final class WaitingPages: Sendable {
    let count = Atomic(0)
  }

  public init() {}

  public func open(_ url: String) {
    // `HTTPURL` has checked the URL: it is no path and no option.
    guard url.hasPrefix("https://") || url.hasPrefix("http://") else { return }
    let waiting = waiting
    let isAdmitted = waiting.count.wrappingAdd(1, ordering: .relaxed).newValue <= Self.mostPages
    guard isAdmitted, let page = try? ForwardingPage(to: url), start(page.url),
      DetachedThread.start({
        _ = page.wait(milliseconds: Self.patienceMilliseconds)
        page.close()
        waiting.count.wrappingSubtract(1, ordering: .relaxed)
      })
    else {
      waiting.count.wrappingSubtract(1, ordering: .relaxed)
      return
    }
  }

  /// False if the program can't be started.
  private func start(_ url: String) -> Bool {
    var environment = ["PATH=/usr/local/bin:/usr/bin:/bin"]
    for name in Self.passedOn {
      if let value = getenv(name) { environment.append("\(name)=\(String(cString: value))") }
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    guard lanyard_spawn_closes_others(&actions) == 0 else { return false }
    var child = pid_t()
    let arguments = ["xdg-open", url]
    let started = withChildAttributes(Int16(POSIX_SPAWN_SETPGROUP)) { attributes in
      withCStrings(arguments) { argv in
        withCStrings(environment) { envp in posix_spawn(&child, "/usr/bin/xdg-open", &actions, attributes, argv, envp) }
      }
    }
    guard started == 0 else { return false }
    reap(child)
    return true
  }

  /// `xdg-open` ends when the browser has taken over; waiting for it leaves no zombie.
  private func reap(_ child: pid_t) {
    _ = DetachedThread.start { waitpid(child, nil, 0) }
  }
}
