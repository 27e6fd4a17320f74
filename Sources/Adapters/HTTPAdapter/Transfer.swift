internal import AgentModel
internal import AgentPorts
internal import CCurl
internal import Secrets
internal import Synchronization

/// One exchange in progress. Once it is started only the loop's thread touches it, but any thread may cancel it.
final class Transfer: @unchecked Sendable {
  let plan: TransferPlan
  private let clock: any AgentClock
  private let cancelled = Atomic(false)
  private var end: ((HTTPOutcome) -> Void)?
  private var consent: Consent?
  private var isWithheld = false
  /// The connection that was opened or taken for this transfer so far.
  private var connection = TransferConnection()

  /// When the loop gives the transfer up.
  private(set) var deadline = MonotonicTime(milliseconds: .max)
  /// When the first byte of the request was about to leave; nil until then.
  private(set) var sentAt: BootInstant?
  private var head = ResponseHead()
  private var body: SecretBuilder?
  /// Nil until the body begins, and for a body that is passed on as it comes.
  private var decoder: BodyDecoder?
  private var isTooLarge = false
  private var isMalformed = false
  /// The pin of the server's key, if the plan wants it.
  var serverKey: String?
  /// Of head and body.
  private(set) var receivedBytes = 0

  init(_ plan: TransferPlan, clock: any AgentClock) {
    self.plan = plan
    self.clock = clock
  }

  /// Called before the transfer starts, or while its thread waits for the consent.
  func onEnd(_ end: @escaping (HTTPOutcome) -> Void) { self.end = end }
  /// Nothing is sent without this consent. Called before the transfer starts.
  func require(_ consent: Consent) { self.consent = consent }
  func begin() { deadline = MonotonicTime.now + plan.timeout }
  /// The transfer has to start once more, since the kept connection that libcurl chose can't be used.
  var needsNewConnection: Bool { connection.kept == .refused && !isCancelled }
  /// Called before each start; `sockets` are those of the loop.
  func prepare(_ sockets: ConnectionSockets) { connection.prepare(sockets) }
  /// Whether libcurl may take a kept connection.
  var mayReuse: Bool { plan.reuse != nil && connection.kept == .allowed }
  /// Whether the agent decodes the body. Asked by the loop's thread, which has opened libcurl.
  var isDecoded: Bool { plan.isDecoded && ccurl_can_decode() }
  func cancel() { cancelled.store(true, ordering: .releasing) }
  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  /// Resumes the caller with the outcome, once.
  func finish(_ outcome: HTTPOutcome) {
    end?(outcome)
    end = nil
  }

  /// The outcome for libcurl's result; `failure` is nil for a complete response.
  func outcome(of failure: TransferFailure?) -> HTTPOutcome {
    guard let sentAt else {
      if isWithheld { return .notConnected(.withheld) }
      return isCancelled ? .notConnected(.other) : failure?.beforeSending ?? .notConnected(.other)
    }
    if isTooLarge { return .unknown(.tooLarge) }
    if isMalformed { return .unknown(.malformed) }
    guard let failure else {
      guard head.isComplete, head.framesBodyClearly else { return .unknown(.malformed) }
      let isWhole = decoder?.isComplete ?? true
      let response = response(sentAt: sentAt)
      return isWhole ? .response(response) : .unknown(.reset, partial: response)
    }
    if isCancelled { return .unknown(.cancelled) }
    let lost = failure.afterSending
    guard head.isComplete, body != nil, lost == .reset || lost == .timedOut else { return .unknown(lost) }
    return .unknown(lost, partial: response(sentAt: sentAt))
  }

  private func response(sentAt: BootInstant) -> HTTPResponse {
    HTTPResponse(
      status: head.status, fields: isDecoded ? head.decodedFields : head.fields,
      body: body.take()?.finish() ?? Secret(text: ""), sentAt: sentAt, receivedAt: clock.boot())
  }

  // MARK: libcurl's callbacks

  /// False aborts the transfer before anything of the request is sent on this connection.
  fileprivate func aboutToSend(on ends: ConnectionSockets.Ends) -> Bool {
    guard !isCancelled else { return false }
    if let reuse = plan.reuse {
      let isTLS = plan.url.scheme == .https
      guard connection.take(ends, isTLS: isTLS, isSent: sentAt != nil, reuse) else { return false }
    }
    if let consent {
      // The thread waits; the loop is this transfer's own.
      isWithheld = !consent.isGivenNow()
      // A server that has waited as long may have closed the connection.
      guard !isWithheld, !isCancelled, MonotonicTime.now < deadline else { return false }
    }
    sentAt = clock.boot()
    return true
  }

  fileprivate func receive(header line: UnsafeRawBufferPointer) -> Bool {
    receivedBytes += line.count
    let taken = head.take(line)
    if !taken { isTooLarge = true }
    return taken
  }

  fileprivate func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
    receivedBytes += bytes.count
    if body == nil, !beginBody(bytes.count) {
      isMalformed = true
      return false
    }
    guard let decoder else { return take(bytes) }
    switch decoder.decode(bytes, take) {
    case .good: break
    case .tooLarge: isTooLarge = true
    case .damaged: isMalformed = true
    }
    // Compressed bytes may stand for none at all, without end.
    if receivedBytes > 2 * (plan.maximumResponseBytes + ResponseHead.maximumBytes) { isTooLarge = true }
    return !isTooLarge && !isMalformed
  }

  /// False for a coding that can't be decoded.
  private func beginBody(_ count: Int) -> Bool {
    let codings = isDecoded ? head.contentCodings : []
    guard codings.count < 2 else { return false }
    switch codings.first {
    case nil: break
    case "gzip", "x-gzip": decoder = BodyDecoder(.gzip)
    case "deflate": decoder = BodyDecoder(.deflate)
    default: return false
    }
    // Reserving the announced length saves growing; the body limit bounds it.
    body = SecretBuilder(capacity: min(head.contentLength ?? count, plan.maximumResponseBytes))
    return true
  }

  private func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard (body?.count ?? 0) + bytes.count <= plan.maximumResponseBytes else {
      isTooLarge = true
      return false
    }
    body?.append(bytes)
    return true
  }

  /// Registers this transfer's callbacks with its handle, which must not outlive it.
  func attach(to easy: UnsafeMutableRawPointer) -> CURLcode {
    connection.easy = easy
    if plan.reuse != nil {
      let code = ccurl_set_opened(easy, Unmanaged.passUnretained(self).toOpaque()) { context, socket, _ in
        Transfer.from(context).connection.opened.append(socket)
        return CURL_SOCKOPT_OK
      }
      guard code == CURLE_OK else { return code }
    }
    return ccurl_set_callbacks(
      easy, Unmanaged.passUnretained(self).toOpaque(),
      { context, peer, local, peerPort, localPort in
        let ends = ConnectionSockets.Ends(
          peer: peer.map { String(cString: $0) } ?? "", peerPort: peerPort,
          local: local.map { String(cString: $0) } ?? "", localPort: localPort)
        return Transfer.from(context).aboutToSend(on: ends) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      },
      { bytes, size, count, context in
        let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return Transfer.from(context).receive(header: line) ? line.count : Transfer.refusal(of: line)
      },
      { bytes, size, count, context in
        let chunk = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return Transfer.from(context).receive(body: chunk) ? chunk.count : Transfer.refusal(of: chunk)
      })
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> Transfer {
    Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
  }

  /// Any return value but the byte count makes libcurl abort the transfer.
  private static func refusal(of bytes: UnsafeRawBufferPointer) -> Int { bytes.isEmpty ? 1 : 0 }
}
