internal import AgentModel
internal import AgentPorts
internal import CPlatform
internal import Foundation
internal import Glibc
internal import Synchronization
internal import Threads
internal import UnixTransport

/// The transport of a transcript's lines.
public enum Transport: String, CaseIterable, Sendable {
  /// In the same process, without descriptors.
  case inProcess
  /// A unix socket, served by the agent's reading thread.
  case socket
  /// Two pipes for each client, served as `lanyard-agent --stdio` does.
  case stdio
}

/// The endpoint where clients connect to one running agent.
final class AgentEndpoint {
  private let transport: Transport
  private let host: TappedHost
  private let clock: any AgentClock
  private let wakeUp: WakeUp
  private var servers: [Server] = []
  private var direct: [DirectWire] = []
  private var opened = 0
  private let directory: String?
  private var path: String { directory! + "/agent.sock" }

  init(_ transport: Transport, host: TappedHost, clock: any AgentClock, wakeUp: WakeUp) {
    self.transport = transport
    self.host = host
    self.clock = clock
    self.wakeUp = wakeUp
    directory = transport == .socket ? Self.makeDirectory() : nil
    guard transport == .socket else { return }
    let listener = lanyard_bind_unix(path)
    precondition(listener >= 0 && listen(listener, 128) == 0, "no socket at \(path)")
    let server = Server(host: host, clock: clock, wakeUp: wakeUp)
    servers.append(server)
    server.start {
      $0.run(listener: listener, signals: $1, onSignal: $2)
    } afterwards: {
      Glibc.close(listener)
    }
  }

  private static func makeDirectory() -> String {
    var template = Array((NSTemporaryDirectory() + "/lanyard-XXXXXX").utf8CString)
    precondition(mkdtemp(&template) != nil, "no temporary directory")
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  // MARK: clients

  func open(waiting: (String, () -> Bool) throws -> Void) throws -> any Wire {
    opened += 1
    let refused = host.refused
    switch transport {
    case .inProcess:
      let inbox = DirectWire.Inbox()
      guard let conversation = host.begin(inbox) else { return RefusedWire(host.refusalLine) }
      let wire = DirectWire(conversation, inbox: inbox, tap: host.taps.last)
      direct.append(wire)
      return wire
    case .socket:
      let descriptor = lanyard_connect_unix(path)
      precondition(descriptor >= 0, "the agent's socket does not answer")
      try waitForAccept(waiting)
      return wire(input: descriptor, output: descriptor, isRefused: host.refused > refused)
    case .stdio:
      var (there, back): ([Int32], [Int32]) = ([0, 0], [0, 0])
      precondition(pipe(&there) == 0 && pipe(&back) == 0, "no pipe")
      let server = Server(host: host, clock: clock, wakeUp: wakeUp)
      servers.append(server)
      let (input, output) = (there[0], back[1])
      server.start {
        $0.run(stdio: (input, output), signals: $1, onSignal: $2)
      } afterwards: {
        Glibc.close(input)
        Glibc.close(output)
      }
      try waitForAccept(waiting)
      return wire(input: back[0], output: there[1], isRefused: host.refused > refused)
    }
  }

  private func waitForAccept(_ waiting: (String, () -> Bool) throws -> Void) throws {
    try waiting("the agent to take a client") { host.taps.count + host.refused == opened }
  }

  private func wire(input: Int32, output: Int32, isRefused: Bool) -> any Wire {
    DescriptorWire(input: input, output: output, tap: isRefused ? nil : host.taps.last)
  }

  // MARK: the agent's side

  /// Ends the endpoint: open clients still get the answers to their requests.
  func stop() {
    for server in servers { server.lines.stop() }
    for wire in direct { wire.halfClose() }
  }

  /// The clock has moved: judges lines that took too long.
  func judgeDeadlines(waiting: (String, () -> Bool) throws -> Void) throws {
    let now = clock.boot()
    for wire in direct { wire.judgeDeadline { $0.lineDeadline.map { $0 <= now } ?? false } }
    // The first signal wakes the thread; when it has taken the second, it has made a whole round.
    for server in servers where !server.hasEnded {
      for _ in 1...2 {
        let before = server.signals
        server.signal()
        try waiting("the reading thread to look at its clock") { server.signals > before || server.hasEnded }
      }
    }
  }

  func end(waiting: (String, () -> Bool) throws -> Void) throws {
    for server in servers { server.lines.stop() }
    try waiting("the reading threads to end") { servers.allSatisfy { $0.hasEnded } }
    if let directory {
      unlink(path)
      rmdir(directory)
    }
  }
}

/// A reading thread, and a way to wake it.
private final class Server: Sendable {
  let lines: LineServer
  private let wake: Int32
  private let wakeEnd: Int32
  private let signalsTaken = Atomic(0)
  private let isOver = Atomic(false)
  private let wakeUp: WakeUp

  init(host: TappedHost, clock: any AgentClock, wakeUp: WakeUp) {
    lines = LineServer(host: host, clock: clock)
    var ends: [Int32] = [0, 0]
    precondition(pipe(&ends) == 0, "no pipe")
    (wakeEnd, wake) = (ends[0], ends[1])
    self.wakeUp = wakeUp
  }

  deinit {
    Glibc.close(wake)
    Glibc.close(wakeEnd)
  }

  var signals: Int { signalsTaken.load(ordering: .acquiring) }
  var hasEnded: Bool { isOver.load(ordering: .acquiring) }

  func start(
    _ run: @escaping @Sendable (LineServer, Int32, @escaping (Int32) -> Void) -> Void,
    afterwards: @escaping @Sendable () -> Void
  ) {
    let isStarted = DetachedThread.start { [self] in
      run(lines, wakeEnd) { [self] _ in
        signalsTaken.add(1, ordering: .releasing)
        wakeUp.signal()
      }
      afterwards()
      isOver.store(true, ordering: .releasing)
      wakeUp.signal()
    }
    precondition(isStarted, "no thread could be started")
  }

  /// The size of a `signalfd_siginfo`, which the reading thread takes in one read.
  func signal() {
    let nothing = [UInt8](repeating: 0, count: 128)
    _ = nothing.withUnsafeBytes { write(wake, $0.baseAddress, $0.count) }
  }
}
