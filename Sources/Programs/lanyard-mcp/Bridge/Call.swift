internal import MCPBridge
internal import StreamingHTTP

/// A message of the client on its way to the server.
final class Call: Sendable {
  let message: ClientMessage
  /// The client's line as it came.
  let body: WipedBytes
  let cancellation = HTTPCancellation()

  /// A server that was told that a request is cancelled has this time to end its stream.
  private static let cancelledMilliseconds = 10_000

  private let answer = OneAnswer()

  init(_ message: ClientMessage, _ body: WipedBytes) {
    self.message = message
    self.body = body
  }

  /// Nil for a notification or a response.
  var id: MessageID? { if case .request(let id) = message.kind { id } else { nil } }

  /// True once, for the answer that the client gets; false also after the client has cancelled the request.
  func takeAnswer() -> Bool { answer.take() }

  var isAnswered: Bool { answer.isTaken }

  /// The client waits for no answer. `endsRequest`: the stream is closed, which tells the server.
  func cancel(endsRequest: Bool) {
    answer.giveUp()
    if endsRequest { cancellation.cancel() } else { cancellation.cancel(afterMilliseconds: Self.cancelledMilliseconds) }
  }

  var isCancelled: Bool { answer.isGivenUp }
}
