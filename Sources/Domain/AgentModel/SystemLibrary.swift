/// A library of the system that a program opens when it first needs it, and what a person is told where it is missing.
public struct SystemLibrary: Hashable, Sendable {
  /// The name by which it is opened.
  public let name: String
  /// The oldest release that will do; nil if any does.
  public let oldestRelease: String?
  /// The package of Debian that has it.
  public let debianPackage: String

  /// Requests to providers and other servers.
  public static let curl = SystemLibrary(name: "libcurl.so.4", oldestRelease: "7.80", debianPackage: "libcurl4")
  /// Signatures of tokens, and of clients that have a key.
  public static let crypto = SystemLibrary(name: "libcrypto.so.3", oldestRelease: nil, debianPackage: "libssl3")
  /// TLS: of `lanyard-proxy` towards programs, and of libcurl, which stands on it.
  public static let tls = SystemLibrary(name: "libssl.so.3", oldestRelease: nil, debianPackage: "libssl3")
  /// Message buses: the keyring, sleep, the screen's lock.
  public static let systemd = SystemLibrary(name: "libsystemd.so.0", oldestRelease: nil, debianPackage: "libsystemd0")

  /// A sentence for a person, with the way to get it.
  public var missing: String {
    let release = oldestRelease.map { " (\($0) or later)" } ?? ""
    return """
      The library \(name)\(release) is missing on this machine. On Debian, `apt install \(debianPackage)` brings it.
      """
  }
}
