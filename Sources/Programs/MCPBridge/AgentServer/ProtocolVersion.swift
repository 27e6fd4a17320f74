/// The versions of MCP that the agent's own server speaks.
public enum ProtocolVersion {
  /// A message that names its version by itself.
  public static let modern = "2026-07-28"
  /// Those with a handshake, the latest first.
  static let legacy = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
  static let all = [modern] + legacy

  /// The answer to `initialize` (2025-11-25, Version Negotiation): the client's version, else the latest one.
  static func negotiated(_ wanted: String?) -> String { wanted.flatMap { legacy.contains($0) ? $0 : nil } ?? legacy[0] }
}
