internal import Glibc

/// Environment variables of this process.
public enum Environment {
  /// The value of a variable; nil if it is not set or empty.
  public static func value(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  /// True for a variable that is set to anything but `0`.
  public static func flag(_ name: String) -> Bool { value(name).map { $0 != "0" } ?? false }

  /// The environment of a new agent: paths, proxies and the desktop session. The agent outlives this shell and inherits
  /// no other variable: the agent keeps each of these (`CStart`), so it need not start itself again.
  static var forAgent: [String] {
    let names = [
      "ALL_PROXY", "CURL_CA_BUNDLE", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "HTTPS_PROXY", "LANG",
      "LANYARD_STATE_DIR", "LC_ALL", "LC_CTYPE", "NO_PROXY", "PATH", "SSL_CERT_DIR", "SSL_CERT_FILE",
      "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "all_proxy",
      "http_proxy", "https_proxy", "no_proxy",
    ]
    return names.compactMap { name in value(name).map { "\(name)=\($0)" } }
  }
}
