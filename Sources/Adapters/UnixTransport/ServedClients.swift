package import AgentModel
internal import AgentPorts
internal import Synchronization

/// The clients that the reading thread serves. A client keeps its index for its life, so that a token of an epoll event
/// never means another one.
package struct ServedClients {

  package init() {}

  final class Client {
    /// What the server does with the client's input.
    enum Input {
      case read
      /// Not read now: the client has to read answers first, too many of its requests wait, or it is being closed.
      case heldBack
      case ended
    }

    let peer: Peer
    let conversation: any Conversation
    var input = Input.read
    /// What epoll was asked for.
    var asked: Peer.Waits = .reading
    /// It is closed at the end of this turn of the loop.
    var isDone = false
    /// When the server reads again even without an event: the rest of the line may have arrived before.
    var readAgainAt: BootInstant?

    init(peer: Peer, conversation: any Conversation) {
      self.peer = peer
      self.conversation = conversation
    }
  }

  private var slots: [Client?] = []
  private var free: [Int] = []
  /// Of each index, in milliseconds; `.max` without one. Apart from the clients, since each wait looks at all of them.
  private var deadlines: [Int64] = []
  private(set) var count = 0
  /// When each client that holds memory of all clients' answers must have read something.
  private var readingDeadlines: [Int: BootInstant] = [:]
  /// Clients with an unfinished line: while there is none, no deadline is due.
  private(set) var unfinishedLines = 0

  var indices: Range<Int> { slots.indices }

  /// Nil for an index without a client now.
  subscript(place: Int) -> Client? { slots[place] }

  /// Nil if the client has left.
  func place(of peer: Peer) -> Int? {
    let place = peer.place.load(ordering: .relaxed)
    return slots.indices.contains(place) && slots[place]?.peer === peer ? place : nil
  }

  /// Returns the index of the new client.
  mutating func add(_ client: Client) -> Int {
    let place = free.popLast() ?? slots.count
    if place == slots.count {
      slots.append(nil)
      deadlines.append(.max)
    }
    slots[place] = client
    client.peer.place.store(place, ordering: .relaxed)
    count += 1
    return place
  }

  mutating func remove(_ place: Int) {
    note(nil, of: place)
    readingDeadlines[place] = nil
    slots[place] = nil
    free.append(place)
    count -= 1
  }

  // MARK: deadlines

  /// Notes when the current line must have ended; nil while the server does not read from this client.
  mutating func note(_ deadline: BootInstant?, of place: Int) {
    let new = deadline?.milliseconds ?? .max
    guard deadlines[place] != new else { return }
    unfinishedLines += (new == .max ? 0 : 1) - (deadlines[place] == .max ? 0 : 1)
    deadlines[place] = new
  }

  /// When the first unfinished line must have ended, or the first client have read; nil if there is none.
  package var earliestDeadline: BootInstant? {
    let line = unfinishedLines > 0 ? deadlines.min().map(BootInstant.init(milliseconds:)) : nil
    return [line, readingDeadlines.values.min()].compactMap { $0 }.min()
  }

  package var hasDeadlines: Bool { unfinishedLines > 0 || !readingDeadlines.isEmpty }

  /// Notes whether the client holds memory of all clients' answers. `deadline`: the next one, if it has just read
  /// one of its answers whole, or has just begun to hold one.
  package mutating func noteReading(
    _ holdsMemory: Bool, hasRead: Bool, of place: Int, deadline: @autoclosure () -> BootInstant
  ) {
    if !holdsMemory {
      if !readingDeadlines.isEmpty { readingDeadlines[place] = nil }
    } else if hasRead || readingDeadlines[place] == nil {
      readingDeadlines[place] = deadline()
    }
  }

  /// The clients that should have read something by now.
  package func unread(_ now: BootInstant) -> [Int] { readingDeadlines.filter { $0.value <= now }.map(\.key) }

  /// The clients whose line should have ended by now.
  func late(_ now: BootInstant) -> [Int] {
    unfinishedLines > 0 ? deadlines.indices.filter { deadlines[$0] <= now.milliseconds } : []
  }
}
