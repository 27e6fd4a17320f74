internal import AgentModel
internal import AgentPorts
internal import CCurl
internal import Secrets
internal import Synchronization

/// One exchange on its way. The loop's thread alone touches it once it is started; anybody may cancel it.
final class Transfer: @unchecked Sendable {
  let plan: TransferPlan
  private let clock: any AgentClock
  private let cancelled = Atomic(false)
  private var end: ((HTTPOutcome) -> Void)?

  /// When the first byte of the request was about to leave; nil as long as nothing has.
  private(set) var sentAt: BootInstant?
  private var head = ResponseHead()
  private var body: SecretBuilder?
  private var isTooLarge = false

  init(_ plan: TransferPlan, clock: any AgentClock) {
    self.plan = plan
    self.clock = clock
  }

  func onEnd(_ end: @escaping (HTTPOutcome) -> Void) { self.end = end }
  func cancel() { cancelled.store(true, ordering: .releasing) }
  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  /// Tells the outcome, once.
  func finish(_ outcome: HTTPOutcome) {
    end?(outcome)
    end = nil
  }

  /// The outcome by what libcurl says, nil for a whole answer.
  func outcome(of failure: TransferFailure?) -> HTTPOutcome {
    guard let sentAt else {
      return isCancelled ? .notConnected(.other) : failure?.beforeSending ?? .notConnected(.other)
    }
    if isTooLarge { return .unknown(.tooLarge) }
    guard let failure else {
      guard head.isComplete else { return .unknown(.malformed) }
      let body = body.take()?.finish() ?? Secret(text: "")
      return .response(
        HTTPResponse(status: head.status, fields: head.fields, body: body, sentAt: sentAt, receivedAt: clock.boot()))
    }
    return .unknown(isCancelled ? .cancelled : failure.afterSending)
  }

  // MARK: what libcurl calls

  /// False keeps the request here.
  fileprivate func aboutToSend() -> Bool {
    guard !isCancelled else { return false }
    sentAt = clock.boot()
    return true
  }

  fileprivate func receive(header line: UnsafeRawBufferPointer) -> Bool {
    let taken = head.take(line)
    if !taken { isTooLarge = true }
    return taken
  }

  fileprivate func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
    guard (body?.count ?? 0) + bytes.count <= plan.maximumResponseBytes else {
      isTooLarge = true
      return false
    }
    if body == nil {
      // The announced length, if any, saves growing; it is bounded by what may come at all.
      body = SecretBuilder(capacity: min(head.contentLength ?? bytes.count, plan.maximumResponseBytes))
    }
    body?.append(bytes)
    return true
  }

  /// Hooks this transfer into its handle, which must not outlive it.
  func attach(to easy: UnsafeMutableRawPointer) -> CURLcode {
    ccurl_set_callbacks(
      easy, Unmanaged.passUnretained(self).toOpaque(),
      { context, _, _, _, _ in Transfer.from(context).aboutToSend() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT },
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

  /// Any number but the count of the bytes ends the transfer.
  private static func refusal(of bytes: UnsafeRawBufferPointer) -> Int { bytes.isEmpty ? 1 : 0 }
}
