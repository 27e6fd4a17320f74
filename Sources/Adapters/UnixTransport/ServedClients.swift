internal import AgentModel
internal import AgentPorts

/// The clients that the reading thread serves. A client keeps its index for its life, so that a token of an epoll event
/// never means another one.
struct ServedClients {
  struct Client {
    let peer: Peer
    let conversation: any Conversation
    var isReading = true
    /// Whether epoll was asked for readability.
    var asksReading = true
    var asksWriting = false
    var inputEnded = false
    var isDone = false
    /// `isDone` because everything was written, and not because the client is gone.
    var isLeft = false
    /// When the current line must have ended; nil while the server does not read from this client.
    var deadline: BootInstant?
    /// When the server reads again even without an event: the rest of the line may have arrived before.
    var readAgainAt: BootInstant?
  }

  private var slots: [Client?] = []
  private(set) var count = 0
  /// Clients with an unfinished line: while there is none, no deadline is due.
  private(set) var unfinishedLines = 0

  var indices: Range<Int> { slots.indices }

  /// Nil for an index without a client now.
  subscript(place: Int) -> Client? {
    get { slots[place] }
    _modify { yield &slots[place] }
  }

  func place(of peer: Peer) -> Int? { slots.firstIndex { $0?.peer === peer } }

  /// Returns the index of the new client.
  mutating func add(_ client: Client) -> Int {
    let place = slots.firstIndex { $0 == nil } ?? slots.count
    if place == slots.count { slots.append(nil) }
    slots[place] = client
    count += 1
    return place
  }

  mutating func remove(_ place: Int) {
    note(nil, of: place)
    slots[place] = nil
    count -= 1
  }

  // MARK: deadlines

  mutating func note(_ deadline: BootInstant?, of place: Int) {
    guard slots[place]?.deadline != deadline else { return }
    unfinishedLines += (deadline == nil ? 0 : 1) - (slots[place]?.deadline == nil ? 0 : 1)
    slots[place]?.deadline = deadline
  }

  /// When the first unfinished line must have ended; nil if there is none.
  var earliestDeadline: BootInstant? {
    unfinishedLines > 0 ? slots.lazy.compactMap { $0?.deadline }.min() : nil
  }
}
