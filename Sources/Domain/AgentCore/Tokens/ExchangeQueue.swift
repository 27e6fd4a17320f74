public import AgentModel

/// Admits exchanges, at most two an issuer and four in all, or as many as its owner says; an exchange that a caller waits
/// for comes first (docs/tokens.md, Reconnect). A pure value; tickets are the caller's.
///
/// A provider that hangs must not stop the others: an exchange that takes longer than `patience` no longer counts
/// against the total, and still counts against its issuer's.
///
/// An issuer whose answer did not come in time is *silent*: an exchange there that no caller waits for would only lose
/// its answer too. It waits until the issuer answers anything, which the agent asks for with growing pauses.
public struct ExchangeQueue: Sendable {
  public typealias Ticket = UInt64

  public static let mostForAnIssuer = 2
  public static let mostInAll = 4
  public static let patience = Milliseconds.seconds(5)

  private struct Running {
    var issuer: String
    var since: BootInstant
  }

  private struct Waiting {
    var ticket: Ticket
    var issuer: String
    var isWanted: Bool
  }

  private struct Silence {
    /// When to ask the issuer next.
    var askAt: BootInstant
    var pause: Milliseconds
    var isAsked = false
  }

  /// The first pause before a silent issuer is asked for a sign of life; it doubles up to `longestSilencePause`.
  public static let silencePause = Milliseconds.seconds(15)
  public static let longestSilencePause = Milliseconds.seconds(300)

  private let mostForAnIssuer: Int
  private let mostInAll: Int
  private var silent: [String: Silence] = [:]
  private var running: [Ticket: Running] = [:]
  /// In the order in which they came.
  private var line: [Waiting] = []

  public init(mostForAnIssuer: Int = Self.mostForAnIssuer, mostInAll: Int = Self.mostInAll) {
    self.mostForAnIssuer = mostForAnIssuer
    self.mostInAll = mostInAll
  }

  public var waitingCount: Int { line.count }
  public var silentCount: Int { silent.count }

  public var isEmpty: Bool { running.isEmpty && line.isEmpty }

  /// Takes a place in line. The result, as of all methods that follow, is the tickets that may go now, in their order.
  public mutating func enter(_ ticket: Ticket, issuer: String, isWanted: Bool, at now: BootInstant) -> [Ticket] {
    line.append(Waiting(ticket: ticket, issuer: issuer, isWanted: isWanted))
    return admit(at: now)
  }

  /// A caller now waits for this ticket: it goes before the tickets that no caller waits for.
  public mutating func want(_ ticket: Ticket, at now: BootInstant) -> [Ticket] {
    guard let place = line.firstIndex(where: { $0.ticket == ticket && !$0.isWanted }) else { return [] }
    line[place].isWanted = true
    return admit(at: now)
  }

  // MARK: silent issuers

  public func isSilent(_ issuer: String) -> Bool { silent[issuer] != nil }

  /// A request to the issuer got no answer in time.
  public mutating func fellSilent(_ issuer: String, at now: BootInstant) {
    guard silent[issuer] == nil else { return }
    silent[issuer] = Silence(askAt: now + Self.silencePause, pause: Self.silencePause)
  }

  /// The issuer is asked for a sign of life now: no one asks it a second time meanwhile. Until it answers anything it is
  /// silent. `answered` or `didNotAnswer` follows.
  public mutating func isAsked(_ issuer: String, at now: BootInstant) {
    fellSilent(issuer, at: now)
    silent[issuer]?.isAsked = true
  }

  /// The issuer answered something.
  public mutating func answered(_ issuer: String, at now: BootInstant) -> [Ticket] {
    guard silent.removeValue(forKey: issuer) != nil else { return [] }
    return admit(at: now)
  }

  /// The silent issuers to ask now for a sign of life: those that an exchange waits for. `answered` or `didNotAnswer`
  /// follows for each.
  public mutating func issuersToAsk(at now: BootInstant) -> [String] {
    let due = silent.filter { $0.value.askAt <= now && isAwaited($0.key, $0.value) }.keys.sorted()
    for issuer in due { silent[issuer]?.isAsked = true }
    return due
  }

  public mutating func didNotAnswer(_ issuer: String, at now: BootInstant) {
    guard let pause = silent[issuer]?.pause else { return }
    let next = min(pause * 2, Self.longestSilencePause)
    silent[issuer] = Silence(askAt: now + next, pause: next)
  }

  /// The network may be back: the silent issuers are asked at once.
  public mutating func reconnected(at now: BootInstant) {
    for issuer in silent.keys where silent[issuer]?.isAsked == false {
      silent[issuer] = Silence(askAt: now, pause: Self.silencePause)
    }
  }

  private func isAwaited(_ issuer: String, _ silence: Silence) -> Bool {
    !silence.isAsked && line.contains { $0.issuer == issuer }
  }

  /// It has ended, or gave its place up.
  public mutating func leave(_ ticket: Ticket, at now: BootInstant) -> [Ticket] {
    running[ticket] = nil
    line.removeAll { $0.ticket == ticket }
    return admit(at: now)
  }

  /// Time has passed.
  public mutating func look(at now: BootInstant) -> [Ticket] { admit(at: now) }

  /// When time alone admits another ticket, without an exchange that ends, or when a silent issuer is to be asked; nil
  /// if there is nothing to do.
  public func nextLook(at now: BootInstant) -> BootInstant? {
    let asks = silent.compactMap { isAwaited($0.key, $0.value) ? max($0.value.askAt, now) : nil }
    guard line.contains(where: { mayGo($0) }) else { return asks.min() }
    return (asks + running.values.map { $0.since + Self.patience }.filter { now < $0 }).min()
  }

  private func mayGo(_ entry: Waiting) -> Bool {
    hasRoom(at: entry.issuer) && (entry.isWanted || !isSilent(entry.issuer))
  }

  private func hasRoom(at issuer: String) -> Bool {
    running.values.count { $0.issuer == issuer } < mostForAnIssuer
  }

  private mutating func admit(at now: BootInstant) -> [Ticket] {
    var admitted: [Ticket] = []
    while running.values.count(where: { now < $0.since + Self.patience }) < mostInAll {
      let next = line.firstIndex { $0.isWanted && mayGo($0) } ?? line.firstIndex { mayGo($0) }
      guard let next else { break }
      let entry = line.remove(at: next)
      running[entry.ticket] = Running(issuer: entry.issuer, since: now)
      admitted.append(entry.ticket)
    }
    return admitted
  }
}
