internal import AgentCore
internal import CurlTransfers
internal import MCPBridge
internal import StreamingHTTP

/// What the server answers to one request, while it arrives.
final class Reply {
  /// How the body is read.
  enum Form { case message, events, nothing }

  private(set) var head: ReceivedHead?
  private(set) var form = Form.nothing
  /// Of a message, or of an error.
  private(set) var body = WipedBytes()
  private(set) var events = EventStream()
  private(set) var isTooLarge = false
  /// The token that the request carried.
  private let token: WipedBytes?
  private let onEvent: ([UInt8], Reply) -> Bool

  /// The body of a refusal without a message of MCP is not needed beyond this.
  private static let maximumErrorBytes = 64 << 10

  init(token: WipedBytes?, onEvent: @escaping ([UInt8], Reply) -> Bool) {
    self.token = token
    self.onEvent = onEvent
  }

  var status: Int { head?.status ?? 0 }
  var isSuccess: Bool { 200..<300 ~= status }

  /// False for an answer whose body is in a coding that was not asked for.
  func take(_ head: ReceivedHead) -> Bool {
    self.head = head
    switch head.mediaType {
    case "text/event-stream"? where isSuccess: form = .events
    case let type? where type == "application/json" || type.hasSuffix("+json"): form = .message
    default: form = .nothing
    }
    return head.values("content-encoding").allSatisfy { $0.lowercased() == "identity" }
  }

  func take(_ piece: UnsafeRawBufferPointer) -> Bool {
    switch form {
    case .events:
      let goesOn = events.push(piece) { onEvent($0.data, self) }
      isTooLarge = events.isTooLarge
      return goesOn
    case .message:
      let limit = isSuccess ? ClientMessage.maximumBytes : Self.maximumErrorBytes
      guard body.count + piece.count <= limit else {
        isTooLarge = true
        return false
      }
      body.append(piece)
      return true
    case .nothing: return true
    }
  }

  /// The server repeats the token that it got: the client must not see it.
  func repeatsToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
    token?.withBytes { RepeatedToken.occurs($0, in: bytes) } ?? false
  }
}
