/// A WebSocket is judged under a method of its own. Its handshake is a GET, but whatever the program sends after it is
/// neither judged nor written down, so it is no read (docs/offline.md, Requests).
public enum WebSocketMethod {
  /// In `request.authorize`, in `requests` of a policy, in prompts and in the audit log.
  public static let name = "WEBSOCKET"
  /// On the wire, and in the proof of a token that is bound to a key (RFC 6455 section 4.1).
  public static let ofHandshake = "GET"

  /// What is on the wire for a method that is judged.
  public static func sent(for method: String) -> String { method == name ? ofHandshake : method }
}
