internal import AgentModel
internal import CurlTransfers
internal import Threads

/// One request on its way. Only the thread of `HTTPClient.perform` touches it.
final class Exchange: TransferReceiver {
  /// What the caller wants to be told.
  struct Receiver {
    let onHead: (ReceivedHead) -> Bool
    let onBody: (UnsafeRawBufferPointer) -> Bool
  }

  let request: OutgoingRequest
  let transfer: TransferRequest
  let body: RequestBody
  private let receiver: Receiver
  private let cancellation: HTTPCancellation?

  private let began = MonotonicTime.now
  /// The connection that was opened or taken for this request so far.
  var connection = TransferConnection()
  /// The first byte of the request was about to leave.
  private(set) var isSent = false
  private(set) var head = ReceivedHead()
  private var isHeadTold = false
  /// How the exchange was ended here; nil if it was not.
  private var end: HTTPResult?
  /// libcurl waits for more of the body.
  var isBodyPaused = false
  /// When the last byte was sent or received.
  private var lastProgress = MonotonicTime.now
  /// When the last byte was sent: interim responses (1xx) give the server no more time for its head.
  private var lastSent = MonotonicTime.now

  init(
    _ request: OutgoingRequest, _ transfer: TransferRequest, _ body: RequestBody, _ receiver: Receiver,
    _ cancellation: HTTPCancellation?
  ) {
    self.request = request
    self.transfer = transfer
    self.body = body
    self.receiver = receiver
    self.cancellation = cancellation
  }

  var isCancelled: Bool { cancellation?.isCancelled == true }

  /// When the request is given up; nil: never.
  var deadline: MonotonicTime? {
    // libcurl limits the time for the connection.
    let own =
      isHeadTold
      ? request.idleMilliseconds.map { lastProgress + $0 } : request.headMilliseconds.map { lastSent + $0 }
    let whole = request.totalMilliseconds.map { began + $0 }
    let ends = [isSent ? own : nil, whole, cancellation?.deadline].compactMap(\.self)
    return ends.min()
  }

  /// The result for libcurl's report; `failure` is nil for a complete response.
  func result(_ failure: TransferReport?) -> HTTPResult {
    guard isSent else { return .notSent(isCancelled ? .cancelled : failure?.notSent ?? .notConnected(.other)) }
    if let end { return end }
    guard let failure else {
      guard head.isComplete else { return .lost(.malformed) }
      return head.hasOtherTransferCoding ? .lost(.reset) : .complete
    }
    return .lost(isCancelled ? .cancelled : failure.lost)
  }

  // MARK: TransferReceiver

  func opened(_ socket: Int32) { connection.opened(socket) }

  /// libcurl begins again by itself if a kept connection ended without a byte of a response, although the server may
  /// have read the request: never here.
  func aboutToSend(_ handle: EasyHandle, on ends: ConnectionSockets.Ends) -> Bool {
    let isTLS = request.url.scheme == .https
    guard !isCancelled, connection.take(ends, of: handle, isTLS: isTLS, isSent: isSent, isRepeatable: false) else {
      return false
    }
    isSent = true
    (lastProgress, lastSent) = (.now, .now)
    return true
  }

  func receive(header line: UnsafeRawBufferPointer) -> Bool {
    lastProgress = .now
    guard head.take(line) else { return ended(.lost(.tooLarge)) }
    guard head.isComplete, !isHeadTold else { return true }
    isHeadTold = true
    // libcurl takes the last length; on a kept connection the next request would get the rest as its response.
    if head.hasTwoLengths { return ended(.lost(.malformed)) }
    return receiver.onHead(head) || ended(.stopped)
  }

  /// Returns false, for libcurl: the transfer ends.
  private func ended(_ result: HTTPResult) -> Bool {
    end = result
    return false
  }

  func receive(body bytes: UnsafeRawBufferPointer) -> BodyReceipt {
    lastProgress = .now
    guard !bytes.isEmpty else { return .taken }
    return receiver.onBody(bytes) || ended(.stopped) ? .taken : .refused
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyReading {
    guard case .stream(let stream) = body else { return .failed }
    (lastProgress, lastSent) = (.now, .now)
    switch stream.read(buffer) {
    case .bytes(let count): return .bytes(count)
    case .end: return .bytes(0)
    case .later:
      isBodyPaused = true
      return .later
    case .failed:
      end = .lost(.body)
      return .failed
    }
  }
}
