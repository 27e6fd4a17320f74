internal import AgentModel
internal import AgentPorts
internal import CCurl
internal import CurlTransfers
internal import Secrets
internal import Synchronization
internal import Threads

/// One exchange in progress. Once it is started only the loop's thread touches it, but any thread may cancel it.
final class Transfer: TransferReceiver, @unchecked Sendable {
  private enum Refusal: Equatable {
    /// `Consent` was not given: nothing was sent.
    case withheld
    case response(HTTPOutcome.LostResponse)
  }

  let plan: TransferPlan
  private let clock: any AgentClock
  private let cancelled = Atomic(false)
  private var end: ((HTTPOutcome) -> Void)?
  private var consent: Consent?
  /// The connection that was opened or taken for this transfer so far.
  private var connection = TransferConnection()

  /// When the loop gives the transfer up.
  private(set) var deadline = MonotonicTime(milliseconds: .max)
  /// When the first byte of the request was about to leave; nil until then.
  private(set) var sentAt: BootInstant?
  private var head = ReceivedHead()
  private var body: SecretBuilder?
  /// Nil until the body begins, and for a body that is passed on as it comes.
  private var decoder: BodyDecoder?
  /// Why the transfer was ended here; nil if it was not.
  private var refusal: Refusal?
  /// A body that is not longer has no share of the plan's memory.
  private static let unsharedBytes = 16 << 10
  /// What the body may take of the plan's memory; nil while it is small.
  private var share: MemoryBudget.Share?
  /// libcurl waits until the share is granted.
  private var isPaused = false
  private var wake: @Sendable () -> Void = {}
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
  /// Called before each start; `sockets` are those of the loop, and `wake` wakes its thread.
  func prepare(_ sockets: ConnectionSockets, wake: @escaping @Sendable () -> Void) {
    connection.prepare(sockets)
    self.wake = wake
  }
  /// True once after memory has come for which libcurl waits.
  func takeResumption() -> Bool {
    guard isPaused, share?.isGranted == true else { return false }
    isPaused = false
    return true
  }
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
  func outcome(of failure: TransferReport?) -> HTTPOutcome {
    guard let sentAt else {
      if refusal == .withheld { return .notConnected(.withheld) }
      return isCancelled ? .notConnected(.other) : failure?.beforeSending ?? .notConnected(.other)
    }
    if case .response(let lost) = refusal { return .unknown(lost) }
    guard let failure else {
      guard head.isComplete else { return .unknown(.malformed) }
      let isWhole = decoder?.isComplete != false && !head.hasOtherTransferCoding
      let response = response(sentAt: sentAt)
      return isWhole ? .response(response) : .unknown(.reset, partial: response)
    }
    if isCancelled { return .unknown(.cancelled) }
    let lost = failure.afterSending
    guard head.isComplete, body != nil, lost == .reset || lost == .timedOut else { return .unknown(lost) }
    return .unknown(lost, partial: response(sentAt: sentAt))
  }

  private func response(sentAt: BootInstant) -> HTTPResponse {
    let body = body.take()?.finish() ?? Secret(text: "")
    share?.shrink(to: body.count)
    var response = HTTPResponse(
      status: head.status, fields: isDecoded ? decodedFields : head.fields, body: body, sentAt: sentAt,
      receivedAt: clock.boot())
    response.share = share
    return response
  }

  /// The fields without those that describe the body as it was sent, before it was decoded.
  private var decodedFields: [(name: String, value: String)] {
    guard head.field("content-encoding") != nil else { return head.fields }
    return head.fields.filter { !["content-encoding", "content-length"].contains($0.name.lowercased()) }
  }

  // MARK: TransferReceiver

  /// False aborts the transfer before anything of the request is sent on this connection.
  func aboutToSend(_ handle: EasyHandle, on ends: ConnectionSockets.Ends) -> Bool {
    guard !isCancelled else { return false }
    if let reuse = plan.reuse {
      let isTLS = plan.request.url.scheme == .https
      guard
        connection.take(ends, of: handle, isTLS: isTLS, isSent: sentAt != nil, isRepeatable: reuse.isRepeatable)
      else { return false }
    }
    if let consent {
      // The thread waits; the loop is this transfer's own.
      refusal = consent.isGivenNow() ? nil : .withheld
      // A server that has waited as long may have closed the connection.
      guard refusal == nil, !isCancelled, MonotonicTime.now < deadline else { return false }
    }
    sentAt = clock.boot()
    return true
  }

  func opened(_ socket: Int32) { connection.opened(socket) }

  func receive(header line: UnsafeRawBufferPointer) -> Bool {
    receivedBytes += line.count
    guard head.take(line) else { return refuse(.tooLarge) }
    // libcurl takes the last length. On a connection that is kept, the next request would get the rest as its response.
    // One that is closed after its response does no such harm, and the response may have the only live refresh token.
    if plan.reuse != nil, head.isComplete, head.hasTwoLengths { return refuse(.malformed) }
    return true
  }

  /// Returns false, for libcurl: the transfer ends.
  private func refuse(_ lost: HTTPOutcome.LostResponse) -> Bool {
    refusal = .response(lost)
    return false
  }

  func receive(body bytes: UnsafeRawBufferPointer) -> BodyReceipt {
    if body == nil, !beginBody() {
      _ = refuse(.malformed)
      return .refused
    }
    guard hasMemory(for: bytes.count) else {
      isPaused = true
      return .later
    }
    if let share { body?.reserve(share.bytes) }
    receivedBytes += bytes.count
    return decode(bytes) ? .taken : .refused
  }

  private func decode(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let decoder else { return take(bytes) }
    switch decoder.decode(bytes, take) {
    case .good: break
    case .tooLarge: return refuse(.tooLarge)
    case .damaged: return refuse(.malformed)
    }
    // Compressed bytes may stand for none at all, without end.
    guard receivedBytes <= 2 * (plan.maximumResponseBytes + ReceivedHead.maximumBytes) else { return refuse(.tooLarge) }
    return true
  }

  /// False for a coding that can't be decoded.
  private func beginBody() -> Bool {
    let codings = isDecoded ? head.contentCodings : []
    guard codings.count < 2 else { return false }
    switch codings.first {
    case nil: break
    case "gzip", "x-gzip": decoder = BodyDecoder(.gzip)
    case "deflate": decoder = BodyDecoder(.deflate)
    default: return false
    }
    body = SecretBuilder(isPassing: plan.memory != nil)
    return true
  }

  /// The most that a body of this length can become.
  private func longestBody(_ length: Int?) -> Int {
    guard let length, length >= 0 else { return plan.maximumResponseBytes }
    let (decoded, isOver) = length.multipliedReportingOverflow(by: decoder == nil ? 1 : BodyDecoder.mostForAByte)
    return isOver ? plan.maximumResponseBytes : min(decoded, plan.maximumResponseBytes)
  }

  /// Gets the body's memory at once, which saves growing; false while the plan's memory has no room for it. A body whose
  /// length is not known begins without.
  private func hasMemory(for more: Int) -> Bool {
    if let share { return share.isGranted }
    let length = head.contentLength
    let isShort = length == nil && decoder == nil && (body?.count ?? 0) + more <= Self.unsharedBytes
    let bytes = longestBody(length)
    guard let memory = plan.memory, bytes > Self.unsharedBytes, !isShort else {
      if length != nil, decoder == nil { body?.reserve(bytes) }
      return true
    }
    let share = memory.share(bytes, isLimited: plan.isForLimitedCaller, granted: wake)
    self.share = share
    return share.isGranted
  }

  private func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard (body?.count ?? 0) + bytes.count <= plan.maximumResponseBytes else { return refuse(.tooLarge) }
    body?.append(bytes)
    return true
  }
}
