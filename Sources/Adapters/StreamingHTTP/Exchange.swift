internal import AgentModel
internal import CCurl
internal import Glibc
internal import TransferReports

/// One request on its way. Only the thread of `HTTPClient.perform` touches it.
final class Exchange {
  /// What the caller wants to be told.
  struct Receiver {
    let onHead: (ReceivedHead) -> Bool
    let onBody: (UnsafeRawBufferPointer) -> Bool
  }

  let request: OutgoingRequest
  let body: RequestBody
  let headers: HeaderList
  private let receiver: Receiver
  private let cancellation: HTTPCancellation?

  private let began = MonotonicTime.now
  private var easy: UnsafeMutableRawPointer?
  private var lane: Lane?
  private var connects = 0
  /// The first byte of the request was about to leave.
  private(set) var isSent = false
  /// The kept connection can't be used: the request starts again on a new one.
  private(set) var needsNewConnection = false
  private(set) var head = ReceivedHead()
  private var isHeadTold = false
  private var isStopped = false
  private var isTooLarge = false
  private var isMalformed = false
  private var hasBodyFailed = false
  /// libcurl waits for more of the body.
  var isBodyPaused = false
  /// When the last byte was sent or received.
  private(set) var lastProgress = MonotonicTime.now

  init(
    _ request: OutgoingRequest, _ body: RequestBody, _ headers: HeaderList, _ receiver: Receiver,
    _ cancellation: HTTPCancellation?
  ) {
    self.request = request
    self.body = body
    self.headers = headers
    self.receiver = receiver
    self.cancellation = cancellation
  }

  var isCancelled: Bool { cancellation?.isCancelled == true }

  /// When the request is given up; nil: never.
  var deadline: MonotonicTime? {
    // libcurl limits the time for the connection.
    let own = isSent ? isHeadTold ? request.idleMilliseconds : request.headMilliseconds : nil
    let whole = request.totalMilliseconds.map { began + $0 }
    let ends = [own.map { lastProgress + $0 }, whole, cancellation?.deadline].compactMap(\.self)
    return ends.min()
  }

  func begin(on lane: Lane, _ easy: UnsafeMutableRawPointer) {
    self.lane = lane
    self.easy = easy
    connects = 0
    needsNewConnection = false
    lane.begin()
  }

  /// The result for libcurl's report; `failure` is nil for a complete response.
  func result(_ failure: TransferReport?) -> HTTPResult {
    guard isSent else { return .notSent(isCancelled ? .cancelled : failure?.notSent ?? .other) }
    if isStopped { return .stopped }
    if isTooLarge { return .lost(.tooLarge) }
    if isMalformed { return .lost(.malformed) }
    if hasBodyFailed { return .lost(.body) }
    guard let failure else {
      guard head.isComplete else { return .lost(.malformed) }
      return head.hasOtherTransferCoding ? .lost(.reset) : .complete
    }
    return .lost(isCancelled ? .cancelled : failure.lost)
  }

  // MARK: libcurl's callbacks

  /// False aborts before anything of the request is sent on this connection. libcurl begins again by itself if a kept
  /// connection ended without a byte of a response, although the server may have read the request: never here.
  private func aboutToSend(port: Int32) -> Bool {
    guard let lane, let easy, !isCancelled, !isSent else { return false }
    let before = connects
    connects = ccurl_get_long(easy, CURLINFO_NUM_CONNECTS)
    if connects > before {
      lane.connected(port: port)
    } else if !lane.isUsable(port: port, easy: easy, isTLS: request.url.scheme == .https) {
      needsNewConnection = true
      return false
    }
    isSent = true
    lastProgress = .now
    return true
  }

  private func receive(header line: UnsafeRawBufferPointer) -> Bool {
    lastProgress = .now
    guard head.take(line) else {
      isTooLarge = true
      return false
    }
    guard head.isComplete, !isHeadTold else { return true }
    isHeadTold = true
    // libcurl takes the last length; on a kept connection the next request would get the rest as its response.
    if head.hasTwoLengths {
      isMalformed = true
      return false
    }
    isStopped = !receiver.onHead(head)
    return !isStopped
  }

  private func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
    lastProgress = .now
    guard !bytes.isEmpty else { return true }
    isStopped = !receiver.onBody(bytes)
    return !isStopped
  }

  private func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard case .stream(let stream) = body else { return 0 }
    lastProgress = .now
    switch stream.read(buffer) {
    case .bytes(let count): return count
    case .end: return 0
    case .later:
      isBodyPaused = true
      return ccurl_read_pause
    case .failed:
      hasBodyFailed = true
      return ccurl_read_abort
    }
  }

  /// Registers this exchange's callbacks with its handle, which must not outlive it.
  func attach(to easy: UnsafeMutableRawPointer) -> Bool {
    let context = Unmanaged.passUnretained(self).toOpaque()
    let opened = ccurl_set_opened(easy, context) { context, socket, _ in
      Exchange.from(context).lane?.opened(socket)
      return CURL_SOCKOPT_OK
    }
    guard opened == CURLE_OK else { return false }
    if case .stream = body {
      let code = ccurl_set_body(easy, context) { bytes, size, count, context in
        Exchange.from(context).send(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
      }
      guard code == CURLE_OK else { return false }
    }
    return ccurl_set_callbacks(
      easy, context,
      { context, _, _, _, localPort in
        Exchange.from(context).aboutToSend(port: localPort) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      },
      { bytes, size, count, context in
        let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return Exchange.from(context).receive(header: line) ? line.count : Exchange.refusal(of: line)
      },
      { bytes, size, count, context in
        let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return Exchange.from(context).receive(body: piece) ? piece.count : Exchange.refusal(of: piece)
      }) == CURLE_OK
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> Exchange {
    Unmanaged<Exchange>.fromOpaque(context!).takeUnretainedValue()
  }

  /// Any return value but the byte count makes libcurl abort.
  private static func refusal(of bytes: UnsafeRawBufferPointer) -> Int { bytes.isEmpty ? 1 : 0 }
}
