public import AgentModel

/// Admits exchanges, at most two an issuer and four in all; an exchange that a caller waits for comes first
/// (docs/tokens.md, Reconnect). A pure value; tickets are the caller's.
///
/// A provider that hangs must not stop the others: an exchange that takes longer than `patience` no longer counts
/// against the four, and still counts against its issuer's two.
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

  private var running: [Ticket: Running] = [:]
  /// In the order in which they came.
  private var line: [Waiting] = []

  public init() {}

  public var isEmpty: Bool { running.isEmpty && line.isEmpty }

  /// Takes a place in line. The result, as of all methods that follow, is the tickets that may go now, in their order.
  public mutating func enter(_ ticket: Ticket, issuer: String, isWanted: Bool, at now: BootInstant) -> [Ticket] {
    line.append(Waiting(ticket: ticket, issuer: issuer, isWanted: isWanted))
    return admit(at: now)
  }

  /// A caller now waits for this ticket: it goes before the tickets that no caller waits for.
  public mutating func want(_ ticket: Ticket) {
    if let place = line.firstIndex(where: { $0.ticket == ticket }) { line[place].isWanted = true }
  }

  /// It has ended, or gave its place up.
  public mutating func leave(_ ticket: Ticket, at now: BootInstant) -> [Ticket] {
    running[ticket] = nil
    line.removeAll { $0.ticket == ticket }
    return admit(at: now)
  }

  /// Time has passed.
  public mutating func look(at now: BootInstant) -> [Ticket] { admit(at: now) }

  /// When time alone admits another ticket, without an exchange that ends; nil if it admits none.
  public func nextLook(at now: BootInstant) -> BootInstant? {
    guard line.contains(where: { hasRoom(at: $0.issuer) }) else { return nil }
    return running.values.map { $0.since + Self.patience }.filter { now < $0 }.min()
  }

  private func hasRoom(at issuer: String) -> Bool {
    running.values.count { $0.issuer == issuer } < Self.mostForAnIssuer
  }

  private mutating func admit(at now: BootInstant) -> [Ticket] {
    var admitted: [Ticket] = []
    while running.values.count(where: { now < $0.since + Self.patience }) < Self.mostInAll {
      let next =
        line.firstIndex { $0.isWanted && hasRoom(at: $0.issuer) } ?? line.firstIndex { hasRoom(at: $0.issuer) }
      guard let next else { break }
      let entry = line.remove(at: next)
      running[entry.ticket] = Running(issuer: entry.issuer, since: now)
      admitted.append(entry.ticket)
    }
    return admitted
  }
}
