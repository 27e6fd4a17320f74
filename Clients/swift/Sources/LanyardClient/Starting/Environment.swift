#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The variables of this program.
enum Environment {
  /// The variable's value; nil if it is not set, or empty.
  static func value(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  /// True if `LANYARD_NO_START` is set to anything but `0`.
  static var forbidsStart: Bool { value("LANYARD_NO_START").map { $0 != "0" } ?? false }

  /// The environment of a new agent, the same that a command gives it. The agent outlives this program.
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

/// A failed call of the system.
struct SystemError: Error {
  let number: Int32

  init(_ number: Int32 = errno) { self.number = number }

  var message: String { String(cString: strerror(number)) }
}
