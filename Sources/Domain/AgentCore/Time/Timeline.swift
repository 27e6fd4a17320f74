public import AgentModel

/// A server's time, from the `Date` field of a response (RFC 9110 §6.6.1).
public struct ServerSample: Hashable, Sendable {
  /// The value of `Date`, which has a resolution of one second.
  public var date: Timestamp
  public var sentAt: BootInstant
  public var receivedAt: BootInstant

  public init(date: Timestamp, sentAt: BootInstant, receivedAt: BootInstant) {
    self.date = date
    self.sentAt = sentAt
    self.receivedAt = receivedAt
  }

  var roundTrip: Milliseconds { max(.zero, receivedAt - sentAt) }
  /// Half the round trip plus half a second for the resolution of `Date`.
  var uncertainty: Milliseconds { roundTrip / 2 + Milliseconds(500) }

  /// A `Date` a century from the wall clock is an error: instants that are counted from it may have no text (RFC 3339 ends
  /// with the year 9999). A machine without a clock battery starts in 1970, which is nearer.
  func isPlausible(at now: MachineTime) -> Bool {
    let century = Milliseconds.seconds(36_525 * 86_400)
    return date - now.wall < century && now.wall - date < century
  }

  /// True if the wall clock showed the second of `date` at some moment of the exchange.
  func agrees(with now: MachineTime) -> Bool {
    let sent = now.wall + (sentAt - now.boot)
    let received = now.wall + (receivedAt - now.boot)
    return received >= date && sent < date + .seconds(1)
  }
}

/// `suspect`: the wall clock was set back by more than the tolerance since a server told its time, or contradicts the time
/// that was known before the boot. A difference that a server's time shows is known, and makes no clock suspect.
public enum ClockTrust: Hashable, Sendable { case trusted, suspect }

/// The time for the accounts of one provider.
public struct ProviderTime: Hashable, Sendable {
  /// Trusted time now.
  public var now: Timestamp
  public var clock: ClockTrust
  /// The time by which the wall clock is behind trusted time; zero if it is not.
  public var behind: Milliseconds
  /// Server time minus wall clock; nil if no server has reported its time in this boot.
  public var serverTimeOffset: Milliseconds?

  public init(now: Timestamp, clock: ClockTrust, behind: Milliseconds, serverTimeOffset: Milliseconds?) {
    self.now = now
    self.clock = clock
    self.behind = behind
    self.serverTimeOffset = serverTimeOffset
  }
}

/// Trusted time for one provider's accounts. With a server's time from this boot, it follows the boot clock; otherwise
/// it follows the stored time, advanced by the larger of wall clock and boot clock progress. The machine has one of its
/// own, which no server tells.
///
/// A wall clock that was ahead once would leave a timeline that no server tells ahead for as long. So a window that
/// begins there accepts the wall clock as it is by then: this window and later ones count from it. The mark is not
/// lowered, and what began before is still judged by it, or by the acceptance that it began under.
struct Timeline: Hashable, Sendable {
  /// The time by which an accurate wall clock may be behind trusted time (docs/offline.md, Time).
  static let tolerance = Milliseconds.seconds(120)
  /// Number of latest samples; the one with the shortest round trip counts (docs/offline.md, Time).
  static let samplesKept = 8
  /// Number of acceptances of the wall clock that a record keeps, so that its size is bounded (docs/offline.md, Time).
  static let acceptancesKept = 8

  typealias Acceptance = TrustedTime.Record.Acceptance

  /// The high-water mark of trusted time, reached at `markedAt`. It advances with the boot clock.
  private var mark: Timestamp
  private var markedAt: BootInstant
  /// Mark minus wall clock when both were last known: converts the wall clock while no server has reported its time.
  private var wallOffset: Milliseconds
  /// Times that the wall clock was accepted, in their order, with ever larger offsets. A window counts by the last one
  /// that it did not begin before.
  private var acceptances: [Acceptance] = []
  /// A server has reported its time, in this boot or an earlier one: from then on only servers lower the timeline.
  private var wasTold: Bool
  /// How far the wall clock was behind a server that told its time last; zero if it was ahead, or none told.
  private var toldBehind: Milliseconds
  /// A server has reported its time in this boot.
  private var isAnchored: Bool
  private var samples: [Sample] = []

  private struct Sample: Hashable, Sendable {
    /// Server time minus boot time, in milliseconds since their epochs.
    var offset: Milliseconds
    var roundTrip: Milliseconds
    var uncertainty: Milliseconds
  }

  /// For an unknown provider: starts at the wall clock.
  init(at now: MachineTime) {
    mark = now.wall
    markedAt = now.boot
    wallOffset = .zero
    toldBehind = .zero
    wasTold = false
    isAnchored = false
  }

  /// From a stored line. The mark was certainly reached at `boot`.
  init(_ line: TrustedTime.Record.Line, at boot: BootInstant, isSameBoot: Bool) {
    mark = line.mark
    markedAt = boot
    wallOffset = line.wallOffset
    acceptances = line.acceptances
    // A line of an older version has no `wasTold`; only a server's time or an acceptance left an offset.
    wasTold =
      line.wasTold || line.isAnchored || line.toldBehind > .zero
      || (line.wallOffset > .zero && line.acceptances.isEmpty)
    toldBehind = line.toldBehind
    isAnchored = line.isAnchored && isSameBoot
  }

  /// Advances the mark with the boot clock. Until a server reports its time in this boot, the time that the machine was
  /// off is unknown: a wall clock ahead of the mark raises it, and setting the clock back does not lower it. Returns
  /// how far the wall clock raised the mark.
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

  /// Applies a server's time, also if it lowers the mark.
  mutating func apply(_ sample: ServerSample, at now: MachineTime) {
    // If the wall clock shows the second of `Date`, it is more exact than the middle of that second.
    let server = sample.agrees(with: now) ? now.wall : sample.middle(at: now.boot)
    let new = Sample(
      offset: Milliseconds(server.milliseconds - now.boot.milliseconds), roundTrip: sample.roundTrip,
      uncertainty: sample.uncertainty)
    // Samples that contradict the new one: the server's clock was set in between.
    samples.removeAll { old in
      max(old.offset - new.offset, new.offset - old.offset) > old.uncertainty + new.uncertainty
    }
    samples.append(new)
    if samples.count > Self.samplesKept { samples.removeFirst() }
    let best = samples.reversed().min { $0.roundTrip < $1.roundTrip } ?? new  // of equal ones the latest
    mark = Timestamp(milliseconds: now.boot.milliseconds + best.offset.count)
    markedAt = now.boot
    toldBehind = max(.zero, mark - now.wall)
    wasTold = true
    isAnchored = true
    acceptances = []
  }

  /// A window begins that counts from `ago`, when the vault has lived for `lived`. Its `lived` is later than `lived - ago`
  /// where else it would seem to have begun before the wall clock was accepted.
  mutating func begin(ago: Milliseconds, lived: Milliseconds, at now: MachineTime) -> TrustedInstant {
    advance(to: now)
    if !wasTold, reading(at: now).clock == .suspect {
      wallOffset = mark - now.wall
      // Later than any window that began by now, also in this millisecond.
      accept(Acceptance(at: lived + Milliseconds(1), offset: wallOffset))
    }
    return TrustedInstant(
      time: time(since: nil, at: now) + (.zero - ago), lived: max(lived - ago, acceptances.last?.at ?? .zero))
  }

  /// Where there are too many, the one is dropped that differs least from the one before: windows that began under it age by
  /// this difference.
  private mutating func accept(_ acceptance: Acceptance) {
    if acceptances.count == Self.acceptancesKept {
      let before = [.zero] + acceptances.map(\.offset)
      let least = acceptances.indices.min { acceptances[$0].offset - before[$0] < acceptances[$1].offset - before[$1] }
      acceptances.remove(at: least!)
    }
    acceptances.append(acceptance)
  }

  /// The time for a window that began at `instant`; nil: for a new one.
  private func time(since instant: TrustedInstant?, at now: MachineTime) -> Timestamp {
    let mark = mark(at: now)
    let acceptance = acceptances.last { $0.at <= instant?.lived ?? $0.at }
    return mark + (.zero - (acceptance?.offset ?? .zero))
  }

  func elapsed(since instant: TrustedInstant, at now: MachineTime) -> Milliseconds {
    time(since: instant, at: now) - instant.time
  }

  /// `instant`: of the window that the clock is judged for.
  func reading(since instant: TrustedInstant? = nil, at now: MachineTime) -> ProviderTime {
    let time = time(since: nil, at: now)
    let behind = max(.zero, self.time(since: instant, at: now) - now.wall)
    return ProviderTime(
      now: time, clock: behind - toldBehind > Self.tolerance ? .suspect : .trusted, behind: behind,
      serverTimeOffset: isAnchored ? time - now.wall : nil)
  }

  /// The mark, which only a server lowers.
  func highWater(at now: MachineTime) -> Timestamp { mark(at: now) }

  /// The time by which servers and people date.
  func calendarTime(at now: MachineTime) -> Timestamp { wasTold ? mark(at: now) : now.wall }

  /// The line to store. `wallOffset` is updated only while a server anchors the mark: a wall clock that is merely
  /// behind may not have been set yet since boot, and a correction would look like years. A negative offset is never
  /// carried over a boot: a clock that was ahead may be right then, and the time without power would be lost.
  func line(of provider: ProviderName?, at now: MachineTime) -> TrustedTime.Record.Line {
    let mark = mark(at: now)
    return TrustedTime.Record.Line(
      provider: provider, mark: mark, wallOffset: max(.zero, isAnchored ? mark - now.wall : wallOffset),
      acceptances: acceptances, toldBehind: toldBehind, wasTold: wasTold, isAnchored: isAnchored)
  }
}

extension ServerSample {
  /// The middle of the second in `Date`, at half the round trip, advanced to `boot`.
  fileprivate func middle(at boot: BootInstant) -> Timestamp {
    date + Milliseconds(500) + (boot - (sentAt + roundTrip / 2))
  }
}
