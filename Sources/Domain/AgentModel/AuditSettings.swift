/// What the configuration says of the audit log outside of the agent (docs/audit-export.md). Nil where
/// it says nothing.
public struct AuditSettings: Hashable, Sendable {
  /// Exported entries name persons: the names of clients and accounts, subjects, e-mail addresses.
  public var names: Bool?
  /// Where `lanyard export` sends the log if its command line names no destination.
  public var destinations: [AuditDestination]?

  public init(names: Bool? = nil, destinations: [AuditDestination]? = nil) {
    self.names = names
    self.destinations = destinations
  }

  /// The most destinations of a file. Each has a thread and a connection to the agent.
  public static let mostDestinations = 8
}

/// A collector of audit entries. Members that belong to another kind of collector are nil.
public struct AuditDestination: Hashable, Sendable {
  /// The protocol of the collector.
  public enum Kind: String, Hashable, Sendable, CaseIterable { case journald, syslog, otlp }

  public var kind: Kind
  /// The name of its cursor: destinations with different names are independent.
  public var name: String
  /// The path of the socket, for `journald` and `syslog`.
  public var socket: String?
  /// The URL of an OTLP/HTTP receiver: `https`, or `http` on loopback.
  public var url: String?
  /// A PEM file with the authorities of the receiver.
  public var caFile: String?
  /// A file with a header field in each line: a credential never stands in an argument or in the configuration.
  public var headersFile: String?
  /// The account whose access token goes along.
  public var account: String?

  public init(_ kind: Kind, name: String? = nil) {
    self.kind = kind
    self.name = name ?? kind.rawValue
  }

  /// The socket that `journald` or `syslog` has by default; nil for `otlp`.
  public static func usualSocket(of kind: Kind) -> String? {
    switch kind {
    case .journald: "/run/systemd/journal/socket"
    case .syslog: "/dev/log"
    case .otlp: nil
    }
  }

  /// True for 1 to 32 lower-case letters, digits, `_` and `-`: the name is a part of file names.
  public static func isName(_ text: String) -> Bool {
    (1...32).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        $0 &- UInt8(ascii: "a") < 26 || $0 &- UInt8(ascii: "0") < 10 || $0 == UInt8(ascii: "_")
          || $0 == UInt8(ascii: "-")
      }
  }

  /// The endpoint that a receiver's URL means: `/v1/logs` if the URL has no path (OTLP/HTTP, the default path). Nil for a
  /// URL that is neither `https` nor `http` on loopback.
  public static func endpoint(_ text: String) -> HTTPURL? {
    guard let url = HTTPURL(text), url.scheme == .https || url.isLoopback else { return nil }
    guard url.path == "/" else { return url }
    return HTTPURL(url.origin + "/v1/logs" + (url.query.map { "?" + $0 } ?? ""))
  }
}
