public import AgentModel

/// The life of one queued operation (docs/operations.md). A value that performs nothing; all its times are trusted time
/// of the account's provider.
///
/// - O1: `sending` is durable before the first byte of a request leaves.
/// - O2: a request whose answer was lost is sent again only within the time that its client allowed, a read up to
///   `mostLostReads` times, and always with the same idempotency key.
/// - O3: an operation that may have been performed never ends as `rejected` for want of time or permission: it stays
///   `unknown`.
/// - A report for a state that the operation is not in changes nothing.
public struct OperationMachine: Hashable, Sendable {
  /// The answers with a status of 5xx, but 503, after which an operation is `rejected`: about half an hour of pauses.
  public static let mostServerErrors = 12
  /// The lost answers after which a read is not sent again by itself.
  public static let mostLostReads = 12
  /// Upper bound for a `Retry-After`, as for the token endpoint's.
  public static let longestPause = Milliseconds.seconds(3600)
  /// Lower bound for a `Retry-After`: a server that names no time, or one that has passed, gets no stream of requests.
  public static let shortestPause = Milliseconds.seconds(1)
  /// The pause after a 429 that names none.
  public static let throttledPause = Milliseconds.seconds(60)

  public let delivery: Delivery
  /// The request's method is a read.
  public let isRead: Bool
  public let retryWithin: Milliseconds?
  public private(set) var expiresAt: Timestamp?
  public private(set) var state = State.queued(notBefore: nil)
  /// The requests or claims so far.
  public private(set) var attempts = 0
  /// Fruitless attempts in a row.
  public private(set) var failures = 0
  public private(set) var serverErrors = 0
  /// When the request was first sent, since the person last asked for it.
  public private(set) var firstSentAt: Timestamp?
  /// An answer was lost, and no later one told what became of the request.
  public private(set) var isInDoubt = false

  public init(
    _ delivery: Delivery, isRead: Bool = false, retryWithin: Milliseconds? = nil, expiresAt: Timestamp? = nil
  ) {
    self.delivery = delivery
    self.isRead = isRead
    self.retryWithin = retryWithin
    self.expiresAt = expiresAt
  }

  public var status: Status {
    switch state {
    case .queued: .queued
    case .ready: .ready
    case .sending, .claimed: .sending
    case .done: .done
    case .rejected: .rejected
    case .needsInteraction: .needsInteraction
    case .unknown: .unknown
    case .orphaned: .orphaned
    case .cancelled: .cancelled
    }
  }

  /// True until nothing more happens to it by itself.
  public var isPending: Bool {
    switch state {
    case .queued, .ready, .sending, .claimed, .needsInteraction, .unknown(.some): true
    case .done, .rejected, .unknown(nil), .orphaned, .cancelled: false
    }
  }

  /// The operation makes room when the queue is full: it was delivered, or can never be.
  public var mayLeave: Bool { state == .done || state == .orphaned }

  public var nextAttemptAt: Timestamp? {
    switch state {
    case .queued(let moment), .unknown(let moment): moment
    default: nil
    }
  }

  // MARK: waiting

  /// A client may claim it.
  public mutating func offered() -> [Effect] {
    guard case .queued = state, delivery == .client else { return [] }
    return enter(.ready)
  }

  /// It was about to be sent, and nothing of it left.
  public mutating func withheld() -> [Effect] {
    guard case .sending = state else { return [] }
    return enter(waiting(until: nil))
  }

  /// The policy denies it now.
  public mutating func denied() -> [Effect] {
    switch state {
    case .queued, .ready, .unknown(.some): enter(isInDoubt ? .unknown(retryAt: nil) : .rejected(.policy))
    default: []
    }
  }

  /// The provider wants the person, the resource server does, or the policy does (a step-up).
  public mutating func personWanted() -> [Effect] {
    switch state {
    case .queued, .ready, .sending, .unknown(.some): enter(.needsInteraction)
    default: []
    }
  }

  public mutating func signedInAgain() -> [Effect] {
    guard case .needsInteraction = state else { return [] }
    failures = 0
    return enter(waiting(until: nil))
  }

  /// Its time may be over.
  public mutating func lapsed(at now: Timestamp) -> [Effect] {
    guard let lapse, lapse <= now else { return [] }
    return enter(isInDoubt ? .unknown(retryAt: nil) : .rejected(.expired))
  }

  /// When it ends by itself if it is not sent; nil if time alone does not end it.
  public var lapse: Timestamp? {
    switch state {
    case .queued, .ready, .needsInteraction, .unknown(.some):
      let window = isInDoubt && !isRead ? endOfRetries : nil
      return [expiresAt, window].compactMap { $0 }.min()
    default: return nil
    }
  }

  private var endOfRetries: Timestamp? {
    guard let firstSentAt, let retryWithin else { return nil }
    return firstSentAt + retryWithin + Milliseconds(1)
  }

  // MARK: sending

  public mutating func leaves(at now: Timestamp) -> [Effect] {
    switch state {
    case .queued, .unknown(.some):
      guard delivery == .agent, lapse.map({ now < $0 }) ?? true else { return [] }
      attempts += 1
      firstSentAt = firstSentAt ?? now
      return enter(.sending)
    default: return []
    }
  }

  /// `jitter` is a fraction from 0 up to 1, drawn by the caller.
  public mutating func answered(_ answer: Answer, at now: Timestamp, jitter: Double) -> [Effect] {
    guard case .sending = state else { return [] }
    switch answer.status {
    case 200..<300: return ended(.done)
    case 409, 412: return ended(.rejected(.conflict))
    case 408, 425, 429, 503:
      failures += 1
      let unnamed = answer.status == 429 ? Self.throttledPause : Backoff.pause(failures: failures, jitter: jitter)
      return enter(waiting(until: now + Self.pause(answer.retryAfter ?? unnamed)))
    // A gateway that got no answer knows no more than the agent would.
    case 502, 504: return lost(at: now, jitter: jitter)
    case 501, 505: return ended(.rejected(.server))
    case 500...599:
      failures += 1
      serverErrors += 1
      guard serverErrors < Self.mostServerErrors else { return ended(.rejected(.server)) }
      let pause = answer.retryAfter ?? Backoff.pause(failures: failures, jitter: jitter)
      return enter(waiting(until: now + Self.pause(pause)))
    default: return ended(.rejected(.server))
    }
  }

  static func isPauseOver(until moment: Timestamp, at now: Timestamp) -> Bool {
    Backoff.isOver(until: moment, at: now, longest: longestPause)
  }

  private static func pause(_ wanted: Milliseconds) -> Milliseconds { min(max(wanted, shortestPause), longestPause) }

  /// The server answered with more than can be kept, so that its status is not known.
  public mutating func unreadable() -> [Effect] {
    guard case .sending = state else { return [] }
    isInDoubt = true
    return enter(.unknown(retryAt: nil))
  }

  /// The request left, and no answer came.
  public mutating func lost(at now: Timestamp, jitter: Double) -> [Effect] {
    guard case .sending = state else { return [] }
    isInDoubt = true
    failures += 1
    let again = now + Backoff.pause(failures: failures, jitter: jitter)
    return enter(.unknown(retryAt: mayRepeat(at: again) ? again : nil))
  }

  /// The agent ended, or lost what it knew of the attempt.
  public mutating func interrupted(at now: Timestamp) -> [Effect] {
    switch state {
    case .sending:
      isInDoubt = true
      return enter(.unknown(retryAt: mayRepeat(at: now) ? now : nil))
    case .claimed: return enter(.ready)
    default: return []
    }
  }

  /// It comes from an old copy of the store: it may have been delivered since.
  public mutating func distrusted() -> [Effect] {
    guard isPending else { return [] }
    isInDoubt = true
    return enter(.unknown(retryAt: nil))
  }

  private func mayRepeat(at moment: Timestamp) -> Bool {
    if let expiresAt, moment >= expiresAt { return false }
    if isRead, retryWithin == nil { return failures < Self.mostLostReads }
    return endOfRetries.map { moment < $0 } ?? false
  }

  private func waiting(until moment: Timestamp?) -> State {
    // A doubt outlives answers that say nothing of it. The beginning of time: as soon as its turn comes.
    isInDoubt ? .unknown(retryAt: moment ?? firstSentAt ?? Timestamp(milliseconds: 0)) : .queued(notBefore: moment)
  }

  private mutating func ended(_ end: State) -> [Effect] {
    isInDoubt = false
    return enter(end)
  }

  // MARK: clients

  public mutating func claimed(_ claim: Claim) -> [Effect] {
    guard case .ready = state else { return [] }
    attempts += 1
    return enter(.claimed(claim))
  }

  public mutating func released(_ claim: Claim) -> [Effect] {
    guard case .claimed(claim) = state else { return [] }
    return enter(.ready)
  }

  public mutating func settled(_ outcome: Outcome, by claim: Claim) -> [Effect] {
    guard case .claimed(claim) = state else { return [] }
    switch outcome {
    case .done: return enter(.done)
    case .rejected: return enter(.rejected(.server))
    case .retry: return enter(.ready)
    }
  }

  // MARK: the person

  /// True if the person may have it sent again.
  public var mayBeRetried: Bool {
    switch state {
    case .queued, .rejected, .needsInteraction, .unknown: true
    case .ready, .sending, .claimed, .done, .orphaned, .cancelled: false
    }
  }

  /// The person wants it sent again, whatever became of earlier attempts. An `expiresAt` that has passed counts no more.
  public mutating func retried(at now: Timestamp) -> [Effect] {
    guard mayBeRetried else { return [] }
    (failures, serverErrors, firstSentAt, isInDoubt) = (0, 0, nil, false)
    if let expiresAt, expiresAt <= now { self.expiresAt = nil }
    return enter(.queued(notBefore: nil))
  }

  /// What is being sent or is claimed can't be taken back.
  public mutating func cancelled() -> [Effect] {
    switch state {
    case .sending, .claimed, .cancelled: []
    default: enter(.cancelled)
    }
  }

  public mutating func orphaned() -> [Effect] {
    switch state {
    case .done, .cancelled, .orphaned: []
    default: enter(.orphaned)
    }
  }

  private mutating func enter(_ next: State) -> [Effect] {
    let previous = status
    state = next
    return [.store] + (status == previous ? [] : [.tell(previous: previous)])
  }

  public mutating func restore(_ stored: Stored) {
    (state, attempts, failures) = (stored.state, stored.attempts, stored.failures)
    (serverErrors, firstSentAt, isInDoubt) = (stored.serverErrors, stored.firstSentAt, stored.isInDoubt)
  }
}
