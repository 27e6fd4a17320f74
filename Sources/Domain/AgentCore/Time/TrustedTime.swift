public import AgentModel

/// Both clocks of the machine at one moment.
public struct MachineTime: Hashable, Sendable {
  public var wall: Timestamp
  public var boot: BootInstant

  public init(wall: Timestamp, boot: BootInstant) {
    self.wall = wall
    self.boot = boot
  }
}

/// The start of a window, such as a provider's confirmation of an account.
public struct TrustedInstant: Hashable, Sendable {
  /// Trusted time of that provider.
  public var time: Timestamp
  /// Total running time of this vault by then; see `TrustedTime.elapsed`.
  public var lived: Milliseconds

  public init(time: Timestamp, lived: Milliseconds) {
    self.time = time
    self.lived = lived
  }
}

/// Trusted time, independent of changes to the machine's wall clock (docs/offline.md, Time).
///
/// Each provider has its own timeline, which applies to its own accounts only. A provider with a wrong clock changes
/// the windows of its accounts, which it could also do by confirming them; it can't change those of another provider. A
/// person who runs a local provider therefore can't turn back the time of their employer's. A median would not help
/// with two providers, and a maximum would let any provider end all windows.
///
/// - T1: setting the wall clock never lowers `elapsed`.
/// - T2: `elapsed` is at least what the boot clock counted, even if a server reports less.
/// - T3: only a provider's own server lowers its timeline.
///
/// Moments without a provider, such as the creation of a grant, have a timeline of the machine, for which T1 and T2 hold.
///
/// Its size is bounded by the number of configured providers.
public struct TrustedTime: Hashable, Sendable {
  /// The stored form: encrypted, it is the high-water mark.
  public struct Record: Hashable, Sendable {
    /// The wall clock was accepted as it was, for want of a server's time.
    public struct Acceptance: Hashable, Sendable {
      /// Lifetime of the vault by then.
      public var at: Milliseconds
      /// Mark minus wall clock by then.
      public var offset: Milliseconds

      public init(at: Milliseconds, offset: Milliseconds) {
        self.at = at
        self.offset = offset
      }
    }

    /// The stored timeline of one provider; of the machine if `provider` is nil.
    public struct Line: Hashable, Sendable {
      public var provider: ProviderName?
      public var mark: Timestamp
      /// Mark minus wall clock when both were last known.
      public var wallOffset: Milliseconds
      public var acceptances: [Acceptance]
      /// How far the wall clock was behind a server that told its time last; zero if it was ahead, or none told.
      public var toldBehind: Milliseconds
      /// A server had reported its time.
      public var wasTold: Bool
      /// A server had reported its time in the boot of the record.
      public var isAnchored: Bool

      public init(
        provider: ProviderName?, mark: Timestamp, wallOffset: Milliseconds, acceptances: [Acceptance] = [],
        toldBehind: Milliseconds = .zero, wasTold: Bool = false, isAnchored: Bool
      ) {
        self.provider = provider
        self.mark = mark
        self.wallOffset = wallOffset
        self.acceptances = acceptances
        self.toldBehind = toldBehind
        self.wasTold = wasTold
        self.isAnchored = isAnchored
      }
    }

    public var bootID: String
    /// When the record was made; the marks apply to this moment.
    public var boot: BootInstant
    public var lived: Milliseconds
    public var lines: [Line]

    public init(bootID: String, boot: BootInstant, lived: Milliseconds, lines: [Line]) {
      self.bootID = bootID
      self.boot = boot
      self.lived = lived
      self.lines = lines
    }
  }

  private let bootID: String
  /// Total running time at `livedAt`, a moment of this boot.
  private var lived: Milliseconds
  private var livedAt: BootInstant
  private var timelines: [ProviderName: Timeline] = [:]
  /// Of moments without a provider; nil in a new vault before the first of them.
  private var machine: Timeline?

  /// Continues from the stored record; nil if there is none.
  public init(_ record: Record?, bootID: String, at now: MachineTime) {
    self.bootID = bootID
    guard let record else {
      lived = .zero
      livedAt = now.boot
      return
    }
    // After a reboot, at least the uptime of this boot has passed since the record.
    let isSameBoot = record.bootID == bootID && record.boot <= now.boot
    lived = record.lived
    livedAt = isSameBoot ? record.boot : BootInstant(milliseconds: 0)
    for line in record.lines {
      let timeline = Timeline(line, at: livedAt, isSameBoot: isSameBoot)
      if let provider = line.provider { timelines[provider] = timeline } else { machine = timeline }
    }
    // A vault of an older version has none.
    if machine == nil { machine = Timeline(at: now) }
    advance(to: now)
  }

  /// Advances all timelines. Call it regularly: a wall clock that is ahead raises a mark only when it is read. Returns
  /// true if the wall clock raised a mark by more than the tolerance; store the record then, or a restart undoes it.
  @discardableResult
  public mutating func advance(to now: MachineTime) -> Bool {
    var hasJumped = (machine?.advance(to: now) ?? .zero) > Timeline.tolerance
    for provider in timelines.keys {
      if timelines[provider]!.advance(to: now) > Timeline.tolerance { hasJumped = true }
    }
    return hasJumped
  }

  /// Applies the time of a provider's server. A `Date` that can't be right tells nothing.
  public mutating func apply(_ sample: ServerSample, from provider: ProviderName, at now: MachineTime) {
    guard sample.isPlausible(at: now) else { return }
    var timeline = timelines[provider] ?? Timeline(at: now)
    timeline.advance(to: now)
    timeline.apply(sample, at: now)
    timelines[provider] = timeline
  }

  /// The time for a provider's accounts; the wall clock for an unknown provider. `instant`: the confirmation of the
  /// account for which the clock is judged.
  public func reading(
    for provider: ProviderName, since instant: TrustedInstant? = nil, at now: MachineTime
  ) -> ProviderTime {
    timeline(of: provider, at: now).reading(since: instant, at: now)
  }

  /// The high-water mark of a provider's accounts, for stored tokens: no confirmation of another account lowers it.
  public func highWater(of provider: ProviderName, at now: MachineTime) -> Timestamp {
    timeline(of: provider, at: now).highWater(at: now)
  }

  /// The time by which the provider's server dates an ID token, and a person the end of a key: the server's, or the wall
  /// clock while no server ever told its time. It may go back; no window counts by it.
  public func calendarTime(of provider: ProviderName, at now: MachineTime) -> Timestamp {
    timeline(of: provider, at: now).calendarTime(at: now)
  }

  private func timeline(of provider: ProviderName, at now: MachineTime) -> Timeline {
    timelines[provider] ?? Timeline(at: now)
  }

  /// A provider confirmed an account at `boot`. Starts a timeline for the provider if it has none. Where its server never
  /// told the time, a wall clock that is suspect is accepted for this window and later ones.
  public mutating func confirmed(by provider: ProviderName, at boot: BootInstant, now: MachineTime) -> TrustedInstant {
    var timeline = timeline(of: provider, at: now)
    defer { timelines[provider] = timeline }
    return begin(in: &timeline, ago: max(.zero, now.boot - boot), at: now)
  }

  /// Time since a confirmation, for windows: at least what the boot clock counted in the observed boots, including
  /// sleep, regardless of wall clock and server.
  public func elapsed(
    since instant: TrustedInstant, by provider: ProviderName, at now: MachineTime
  ) -> Milliseconds {
    max(timeline(of: provider, at: now).elapsed(since: instant, at: now), lived(at: now.boot) - instant.lived)
  }

  /// The present moment, independent of any provider, such as for the creation of a grant.
  public mutating func moment(at now: MachineTime) -> TrustedInstant {
    var timeline = machine ?? Timeline(at: now)
    defer { machine = timeline }
    return begin(in: &timeline, ago: .zero, at: now)
  }

  /// A window that is to begin later than others, by the lifetime of the vault, makes that longer by as much: the window is
  /// no shorter for it (T2), and the others no longer.
  private mutating func begin(in timeline: inout Timeline, ago: Milliseconds, at now: MachineTime) -> TrustedInstant {
    let lived = lived(at: now.boot)
    let instant = timeline.begin(ago: ago, lived: lived, at: now)
    self.lived = self.lived + (instant.lived - (lived - ago))
    return instant
  }

  /// Time since such a moment. As in T1 and T2, setting the wall clock back does not lower it; setting it forward
  /// raises it.
  public func elapsed(since moment: TrustedInstant, at now: MachineTime) -> Milliseconds {
    max(
      .zero, (machine ?? Timeline(at: now)).elapsed(since: moment, at: now), lived(at: now.boot) - moment.lived)
  }

  private func lived(at now: BootInstant) -> Milliseconds { lived + max(.zero, now - livedAt) }

  /// The largest distance of the wall clock behind a suspect timeline; nil if no timeline is suspect.
  public func behind(at now: MachineTime) -> Milliseconds? {
    timelines.values.map { $0.reading(at: now) }.filter { $0.clock == .suspect }.map(\.behind).max()
  }

  /// Removes the timeline of a provider that was removed from the configuration.
  public mutating func forget(_ provider: ProviderName) { timelines[provider] = nil }

  /// The record to store.
  public func record(at now: MachineTime) -> Record {
    let lines =
      timelines.keys.sorted().map { timelines[$0]!.line(of: $0, at: now) }
      + (machine.map { [$0.line(of: nil, at: now)] } ?? [])
    return Record(bootID: bootID, boot: now.boot, lived: lived(at: now.boot), lines: lines)
  }
}
