public import AgentPorts
internal import CPlatform
internal import Glibc

/// The desktop's browser, by `xdg-open`, started with an environment made from nothing but what a desktop needs.
public struct DesktopBrowser: URLOpening {
  private static let passedOn = [
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "LANG", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_CURRENT_DESKTOP",
    "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE",
  ]

  public init() {}

  public func open(_ url: String) {
    // What the URL is, was decided by `HTTPURL`: never a path, never an option.
    guard url.hasPrefix("https://") || url.hasPrefix("http://") else { return }
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
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The agent blocks its ending signals for its signalfd; a browser must not inherit that.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETPGROUP))
    var child = pid_t()
    let arguments = ["xdg-open", url]
    let started = withCStrings(arguments) { argv in
      withCStrings(environment) { envp in posix_spawn(&child, "/usr/bin/xdg-open", &actions, &attributes, argv, envp) }
    }
    guard started == 0 else { return }
    reap(child)
  }

  /// `xdg-open` ends when the browser has taken over; nobody is left a zombie.
  private func reap(_ child: pid_t) {
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, 64 << 10)
    let argument = UnsafeMutableRawPointer(bitPattern: Int(child))
    pthread_create(
      &thread, &attributes,
      { child in
        waitpid(pid_t(Int(bitPattern: child)), nil, 0)
        return nil
      }, argument)
    pthread_attr_destroy(&attributes)
  }
}

func withCStrings<Result>(
  _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
  pointers.append(nil)
  defer { for pointer in pointers { free(pointer) } }
  return body(&pointers)
}
