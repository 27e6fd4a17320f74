internal import MCPBridge

/// What the bridge remembers of the conversation. `Bridge` guards it by its lock.
struct BridgeState {
  var session = LegacySession()
  /// The version of the last message that named one by itself.
  var modernVersion: String?
  var tools = ToolCatalogue()
  /// Requests without an answer, by their ids.
  var requests: [MessageID: Call] = [:]
  /// Notifications and responses of the client, which are sent one after the other.
  var ordered: [Call] = []
  var isSendingOrdered = false
  /// Requests that came after `notifications/initialized`, until that is sent.
  var held: [Call] = []
  var isInitializing: Bool { ordered.contains { $0.message.method == "notifications/initialized" } }
  /// Runs while a session is open.
  var serverStream: ServerStream?
  var isEnding = false

  /// Far more than a client has tools to call at once.
  static let maximumRequests = 256
  static let maximumOrdered = 1_024
}
