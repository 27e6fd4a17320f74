public import AgentPorts

/// The reading thread: sleeps until a client sends, and reads once each time.
///
/// One thread answers a cached token without a hop to another. It waits by epoll(7), since poll(2) over 64 silent
/// clients doubles the time of the one that speaks. When nothing is due it sleeps without a timeout: no wake-ups while
/// idle. `ReadingLoop` is its loop.
public final class LineServer: Sendable {
  let host: any ConversationHost
  let clock: any AgentClock
  let names: (any PeerNaming)?
  let announcements = Announcements()

  /// - Parameter names: looks up a client's program; nil for no lookup.
  public init(host: any ConversationHost, clock: any AgentClock, names: (any PeerNaming)? = nil) {
    self.host = host
    self.clock = clock
    self.names = names
  }

  /// Ends `run`: no new clients; current clients still get the answers to their requests.
  public func stop() { announcements.stop() }

  /// Serves on a listening socket until `stop`; or, with `stdio`, one client on two descriptors until its input ends.
  /// Blocks the calling thread. `signals` is a signalfd, or -1; `onSignal` is called with each signal's number.
  public func run(
    listener: Int32 = -1, stdio: (input: Int32, output: Int32)? = nil, signals: Int32 = -1,
    onSignal: @escaping (Int32) -> Void = { _ in }
  ) {
    var loop = ReadingLoop(listener: listener, signals: signals, server: self)
    if let stdio { loop.begin(input: stdio.input, output: stdio.output, process: nil, isSocket: false) }
    loop.run(endsWithLastClient: stdio != nil, onSignal: onSignal)
  }
}
