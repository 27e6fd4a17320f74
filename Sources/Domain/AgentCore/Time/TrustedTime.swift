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

/// A moment from which a window is counted: when a provider last confirmed an account.
public struct TrustedInstant: Hashable, Sendable {
  /// On the timeline of that provider.
  public var time: Timestamp
  /// How long this vault had lived by then; see `TrustedTime.elapsed`.
  public var lived: Milliseconds

  public init(time: Timestamp, lived: Milliseconds) {
    self.time = time
    self.lived = lived
  }
}

/// What time it is, whatever was done to the machine's wall clock (DESIGN, Time).
///
/// There is a timeline for each provider, and a provider is believed about the time by its own accounts alone. A
/// clock that is hours off, or a provider that lies, changes the windows of those who signed in there, which the
/// provider could do as well by confirming them; it can neither lengthen nor end anybody else's. That also holds for a
/// provider on this machine, which a person could add in order to set the time back for an employer's. A median would
/// say nothing where there are two providers, and the latest of all would let any one of them end everybody's windows.
///
/// - T1: setting the wall clock never makes `elapsed` smaller.
/// - T2: `elapsed` is never less than what the boot clock counted, whatever a server says.
/// - T3: only a provider's own server lowers its timeline.
///
/// Its size is bounded by the providers that are configured.
public struct TrustedTime: Hashable, Sendable {
  /// What is durable of it: sealed, it is the high-water mark.
  public struct Record: Hashable, Sendable {
    public struct Line: Hashable, Sendable {
      public var provider: ProviderName
      public var mark: Timestamp
      /// The mark against the wall clock, when both were last known together.
      public var wallOffset: Milliseconds
      /// A server told the time in this boot.
      public var isAnchored: Bool

      public init(provider: ProviderName, mark: Timestamp, wallOffset: Milliseconds, isAnchored: Bool) {
        self.provider = provider
        self.mark = mark
        self.wallOffset = wallOffset
        self.isAnchored = isAnchored
      }
    }

    public var bootID: String
    /// When it was written; the marks are those of this moment.
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
  /// `lived` at a moment of this boot.
  private var lived: Milliseconds
  private var livedAt: BootInstant
  private var timelines: [ProviderName: Timeline] = [:]

  /// `record`: what was remembered last; nil if nothing is.
  public init(_ record: Record?, bootID: String, at now: MachineTime) {
    self.bootID = bootID
    guard let record else {
      lived = .zero
      livedAt = now.boot
      return
    }
    // Across a reboot, this boot's uptime is the least that has passed since.
    let isSameBoot = record.bootID == bootID && record.boot <= now.boot
    lived = record.lived
    livedAt = isSameBoot ? record.boot : BootInstant(milliseconds: 0)
    for line in record.lines {
      timelines[line.provider] = Timeline(line, at: livedAt, isSameBoot: isSameBoot)
    }
    advance(to: now)
  }

  /// Lets the timelines follow the machine's clocks: a wall clock that is not looked at while it is ahead leaves no mark.
  /// Returns true if the wall clock ran ahead of a timeline by more
  /// than the tolerance: that mark should be made durable, or an end of the agent would take it back.
  @discardableResult
  public mutating func advance(to now: MachineTime) -> Bool {
    var hasJumped = false
    for provider in timelines.keys {
      if timelines[provider]!.advance(to: now) > Timeline.tolerance { hasJumped = true }
    }
    return hasJumped
  }

  /// A provider's server told its time.
  public mutating func told(_ sample: ServerSample, by provider: ProviderName, at now: MachineTime) {
    var timeline = timelines[provider] ?? Timeline(at: now)
    timeline.advance(to: now)
    timeline.told(sample, at: now)
    timelines[provider] = timeline
  }

  /// What is known for the accounts of a provider; of one that nothing is known of, what the wall clock says.
  public func reading(for provider: ProviderName, at now: MachineTime) -> TimeReading {
    (timelines[provider] ?? Timeline(at: now)).reading(at: now)
  }

  /// A provider confirmed an account at a moment of this boot. From now on its timeline is kept, also if it never
  /// tells the time: then it follows the wall clock forward, and never back.
  public mutating func confirmed(by provider: ProviderName, at boot: BootInstant, now: MachineTime) -> TrustedInstant {
    advance(to: now)
    if timelines[provider] == nil { timelines[provider] = Timeline(at: now) }
    let ago = max(.zero, now.boot - boot)
    return TrustedInstant(
      time: reading(for: provider, at: now).now + (.zero - ago), lived: lived(at: now.boot) - ago)
  }

  /// How long ago a confirmation was, for windows. Never less than the boot clock counted, sleep included, in the boots
  /// that were seen: neither the wall clock nor a server that says an earlier time takes anything from that.
  public func elapsed(
    since instant: TrustedInstant, by provider: ProviderName, at now: MachineTime
  ) -> Milliseconds {
    max(reading(for: provider, at: now).now - instant.time, lived(at: now.boot) - instant.lived)
  }

  /// A moment of this boot that no provider has a part in: when a grant was made.
  public func moment(at now: MachineTime) -> TrustedInstant {
    TrustedInstant(time: now.wall, lived: lived(at: now.boot))
  }

  /// How long ago such a moment was. Like T1 and T2: a wall clock that is set back takes nothing from it, one that is
  /// set forward adds to it.
  public func elapsed(since moment: TrustedInstant, at now: MachineTime) -> Milliseconds {
    max(.zero, now.wall - moment.time, lived(at: now.boot) - moment.lived)
  }

  private func lived(at now: BootInstant) -> Milliseconds { lived + max(.zero, now - livedAt) }

  /// How far the wall clock is under the mark of the timeline that it contradicts most; nil if it contradicts none.
  public func behind(at now: MachineTime) -> Milliseconds? {
    timelines.values.map { $0.reading(at: now) }.filter { $0.clock == .suspect }.map(\.behind).max()
  }

  /// A provider is no longer configured; no account hangs on it.
  public mutating func forget(_ provider: ProviderName) { timelines[provider] = nil }

  public func record(at now: MachineTime) -> Record {
    let lines = timelines.keys.sorted().map { timelines[$0]!.line(of: $0, at: now) }
    return Record(bootID: bootID, boot: now.boot, lived: lived(at: now.boot), lines: lines)
  }
}
