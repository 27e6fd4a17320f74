/// What the handshake of 2025-11-25 or earlier has agreed on.
public struct LegacySession: Equatable, Sendable {
  /// The version that the server answered to `initialize`; nil before that.
  public private(set) var version: String?
  /// `Mcp-Session-Id`; nil for a server without sessions.
  public private(set) var id: String?
  /// Counts handshakes, so that what belongs to an earlier one is recognised.
  public private(set) var generation = 0

  public init() {}

  /// A client that has shaken hands, in the words of the transport.
  public var isOpen: Bool { version != nil }

  /// The server has ended the session, and the client has not made another handshake.
  public var isEnded: Bool { version == nil && generation > 0 }

  /// Takes the answer to `initialize`. A version or an id that no header field can hold counts as none.
  public mutating func open(version: String?, id: String?) {
    generation += 1
    self.version = version.flatMap { Self.isVisible($0) && $0.utf8.count <= 64 ? $0 : nil } ?? Self.assumedVersion
    self.id = id.flatMap { Self.isVisible($0) && $0.utf8.count <= Self.maximumIDBytes ? $0 : nil }
  }

  /// The server has ended the session.
  public mutating func close() {
    version = nil
    id = nil
    generation += 1
  }

  /// For a server whose answer names none.
  private static let assumedVersion = "2025-03-26"
  private static let maximumIDBytes = 4_096

  /// 2025-11-25, Session Management: visible ASCII.
  private static func isVisible(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 } }
}
