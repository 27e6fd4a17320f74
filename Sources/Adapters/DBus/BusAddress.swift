internal import Glibc

/// The address of a message bus (D-Bus Specification, Server Addresses).
public struct BusAddress: Sendable, Equatable {
  public let text: String

  /// Nil unless every transport is a unix socket: a network transport can be overheard, and `unixexec:` starts
  /// programs.
  public init?(_ text: String) {
    let addresses = text.split(separator: ";")
    guard !addresses.isEmpty, addresses.allSatisfy({ $0.hasPrefix("unix:") }) else { return nil }
    self.text = text
  }

  private init(path: String) {
    let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_/.\\*".utf8)
    let digits = Array("0123456789abcdef".utf8)
    var escaped = Array("unix:path=".utf8)
    for byte in path.utf8 {
      escaped += plain.contains(byte) ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    text = String(decoding: escaped, as: UTF8.self)
  }

  /// The session bus of this user: `$DBUS_SESSION_BUS_ADDRESS`, else the socket `bus` in `$XDG_RUNTIME_DIR`; nil if
  /// neither is set.
  public static var session: BusAddress? {
    if let address = variable("DBUS_SESSION_BUS_ADDRESS") { return BusAddress(address) }
    guard let directory = variable("XDG_RUNTIME_DIR"), directory.hasPrefix("/") else { return nil }
    return BusAddress(path: directory + "/bus")
  }

  /// The system bus: `$DBUS_SYSTEM_BUS_ADDRESS`, else the default path of the specification.
  public static var system: BusAddress? {
    variable("DBUS_SYSTEM_BUS_ADDRESS").map { BusAddress($0) } ?? BusAddress(path: "/run/dbus/system_bus_socket")
  }

  private static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }
}
