public import AgentModel

/// What a server said of the time, by the `Date` of an answer (RFC 9110 §6.6.1).
public struct ServerSample: Hashable, Sendable {
  /// In whole seconds: the server's clock showed this one when it answered.
  public var date: Timestamp
  public var sentAt: BootInstant
  public var receivedAt: BootInstant

  public init(date: Timestamp, sentAt: BootInstant, receivedAt: BootInstant) {
    self.date = date
    self.sentAt = sentAt
    self.receivedAt = receivedAt
  }

  var roundTrip: Milliseconds { max(.zero, receivedAt - sentAt) }
  /// Half the round trip, and half the second that `Date` leaves open.
  var uncertainty: Milliseconds { roundTrip / 2 + Milliseconds(500) }

  /// True if the wall clock showed that second at some moment between sending and receiving.
  func agrees(with now: MachineTime) -> Bool {
    let sent = now.wall + (sentAt - now.boot)
    let received = now.wall + (receivedAt - now.boot)
    return received >= date && sent < date + .seconds(1)
  }
}

public enum ClockTrust: Hashable, Sendable { case trusted, suspect }

/// What the time is for the accounts of one provider.
public struct TimeReading: Hashable, Sendable {
  public var now: Timestamp
  /// Suspect: the wall clock is more than 120 s under the mark.
  public var clock: ClockTrust
  /// How far the wall clock is under the mark; zero if it is not.
  public var behind: Milliseconds
  /// The server's time minus the wall clock's now; nil if the server has not told it in this boot.
  public var serverTimeOffset: Milliseconds?

  public init(now: Timestamp, clock: ClockTrust, behind: Milliseconds, serverTimeOffset: Milliseconds?) {
    self.now = now
    self.clock = clock
    self.behind = behind
    self.serverTimeOffset = serverTimeOffset
  }
}

/// The time as one provider's accounts know it: the server's where it was told in this boot, and else what is
/// remembered of it, carried on by the larger of what the wall clock and the boot clock say has passed.
struct Timeline: Hashable, Sendable {
  /// How far an honest wall clock may be under the mark (DESIGN, Time).
  static let tolerance = Milliseconds.seconds(120)
  /// Samples of which the one with the shortest round trip counts (DESIGN, Time).
  static let samplesKept = 8

  /// The high-water mark at a moment of this boot. It runs on with the boot clock.
  private var mark: Timestamp
  private var markedAt: BootInstant
  /// The mark against the wall clock, when both were last known together: what the wall clock says of the time while
  /// no server has.
  private var wallOffset: Milliseconds
  private var isAnchored: Bool
  private var samples: [Sample] = []

  private struct Sample: Hashable, Sendable {
    /// The server's time minus boot time, both in milliseconds since their beginnings.
    var offset: Milliseconds
    var roundTrip: Milliseconds
    var uncertainty: Milliseconds
  }

  /// Of a provider that nothing is known of: the wall clock is all there is.
  init(at now: MachineTime) {
    mark = now.wall
    markedAt = now.boot
    wallOffset = .zero
    isAnchored = false
  }

  /// As it is remembered; `boot` is the moment of this boot at which the mark is sure to have been reached.
  init(_ line: TrustedTime.Record.Line, at boot: BootInstant, isSameBoot: Bool) {
    mark = line.mark
    markedAt = boot
    wallOffset = line.wallOffset
    isAnchored = line.isAnchored && isSameBoot
  }

  /// Runs on with the boot clock. While no server has told the time in this boot, nobody knows how long the machine
  /// was off, so a wall clock that is ahead raises the mark, and setting it back does not lower it again. Returns by
  /// how much it was raised.
  @discardableResult
  mutating func advance(to now: MachineTime) -> Milliseconds {
    let ran = mark + max(.zero, now.boot - markedAt)
    mark = mark(at: now)
    markedAt = max(markedAt, now.boot)
    return mark - ran
  }

  private func mark(at now: MachineTime) -> Timestamp {
    let ran = mark + max(.zero, now.boot - markedAt)
    return isAnchored ? ran : max(ran, now.wall + wallOffset)
  }

  /// The server's time takes the place of whatever was thought, also if it is earlier.
  mutating func told(_ sample: ServerSample, at now: MachineTime) {
    // A wall clock that shows the very second of `Date` is nearer to the truth than the middle of that second.
    let server = sample.agrees(with: now) ? now.wall : sample.middle(at: now.boot)
    let new = Sample(
      offset: Milliseconds(server.milliseconds - now.boot.milliseconds), roundTrip: sample.roundTrip,
      uncertainty: sample.uncertainty)
    // Two samples that can't both be right: the server's clock was set meanwhile, and the later one counts.
    samples.removeAll { old in
      max(old.offset - new.offset, new.offset - old.offset) > old.uncertainty + new.uncertainty
    }
    samples.append(new)
    if samples.count > Self.samplesKept { samples.removeFirst() }
    let best = samples.reversed().min { $0.roundTrip < $1.roundTrip } ?? new  // the latest of the shortest
    mark = Timestamp(milliseconds: now.boot.milliseconds + best.offset.count)
    markedAt = now.boot
    isAnchored = true
  }

  func reading(at now: MachineTime) -> TimeReading {
    let mark = mark(at: now)
    let behind = max(.zero, mark - now.wall)
    return TimeReading(
      now: mark, clock: behind > Self.tolerance ? .suspect : .trusted, behind: behind,
      serverTimeOffset: isAnchored ? mark - now.wall : nil)
  }

  /// What the wall clock says against the mark is remembered where a server vouches for
  /// the mark. A wall clock that is only behind is not: it may be one that has not been set yet since the start of the
  /// machine, and setting it would seem to be years.
  func line(of provider: ProviderName, at now: MachineTime) -> TrustedTime.Record.Line {
    let mark = mark(at: now)
    return TrustedTime.Record.Line(
      provider: provider, mark: mark, wallOffset: isAnchored ? mark - now.wall : wallOffset, isAnchored: isAnchored)
  }
}

extension ServerSample {
  /// The middle of the second that `Date` names, at half the round trip, carried on to `boot`.
  fileprivate func middle(at boot: BootInstant) -> Timestamp {
    date + Milliseconds(500) + (boot - (sentAt + roundTrip / 2))
  }
}
