internal import MCPBridge
internal import StreamingHTTP

/// A request to the server, without its credential.
struct Outgoing {
  var method: String
  var fields: [(name: String, value: String)]
  var body: WipedBytes?
  var cancellation: HTTPCancellation
  /// What the request is about, for the count of step-ups.
  var operation = ""
  /// Called when an answer begins.
  var onHead: (() -> Void)?
  /// The person is asked to sign in if the server demands it.
  var isForPerson = true
}

/// How sending ended.
enum Sent {
  /// A response came, or a part of it.
  case replied(Reply, HTTPResult)
  /// No response came.
  case failed(BridgeFailure)
  case cancelled
}
