import CPlatform
import CommandSupport
import Glibc
import MetricsExposition
import Threads
import WatchedFiles

/// Answers scrapers at a unix socket: one thread, one request for each connection, and a thread that reads the figures.
///
/// A client that is slow holds one of `mostClients` places until its deadline, and holds up no other. An agent that is slow
/// holds up those who wait for its figures, and all of them for one reading.
struct FigureServer {
  /// A server scrapes with one connection. More wait in the backlog.
  private static let mostClients = 32
  /// From the begin of a connection until its request is there, and from then until its answer is taken.
  private static let patience: Int = 5_000
  /// With no descriptors left, `accept` fails at once while connections wait.
  private static let pauseWhenExhausted: Int32 = 100

  private struct Client {
    let descriptor: Int32
    var deadline: Int
    var request = ScrapeRequest()
    /// The request is there and waits for the figures.
    var wanted: ScrapeRequest.Answer?
    /// What is still to be sent; nil before.
    var answer: ArraySlice<UInt8>?
    var isOver = false

    var events: Int16 { answer != nil ? Int16(POLLOUT) : wanted == nil ? Int16(POLLIN) : 0 }

    mutating func answer(by page: () -> FigurePage) {
      guard let wanted else { return }
      answer = wanted.bytes(page)[...]
      deadline = MonotonicTime.now.milliseconds + FigureServer.patience
    }
  }

  private let socket: FigureSocket
  private let labels: [FigurePage.Label]

  init(_ socket: FigureSocket, _ labels: [FigurePage.Label]) { (self.socket, self.labels) = (socket, labels) }

  /// Serves until a signal, and removes the socket then.
  func run() throws(CommandFailure) {
    let interruption = try Interruption()
    ProgramWatch.start()
    let listener = try socket.open()
    let own = FigureSocket.Identity(socket.path)
    defer { socket.close(listener, madeAs: own) }
    _ = lanyard_notify("READY=1")
    Output.note("The figures are at \(Text.shown(socket.path)). Ctrl-C ends this.")
    var clients: [Client] = []
    let reading = SharedReading()
    var isReading = false
    while !interruption.isPending {
      var watched = [
        pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: clients.count < Self.mostClients ? listener : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: isReading ? reading.descriptor : -1, events: Int16(POLLIN), revents: 0),
      ]
      watched += clients.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
      let next = clients.map { max(0, $0.deadline - MonotonicTime.now.milliseconds) }.min() ?? -1
      guard poll(&watched, nfds_t(watched.count), Int32(next)) >= 0 || errno == EINTR else { continue }
      if watched[0].revents != 0 { break }
      if watched[2].revents != 0, let page = reading.take()?.labeled(labels) {
        isReading = false
        for index in clients.indices where clients[index].answer == nil { clients[index].answer { page } }
      }
      for index in clients.indices where watched[index + 3].revents != 0 { go(on: &clients[index]) }
      if !isReading, clients.contains(where: { $0.wanted != nil && $0.answer == nil && !$0.isOver }) {
        isReading = reading.begin()
        if !isReading { for index in clients.indices { clients[index].isOver = clients[index].answer == nil } }
      }
      end(&clients)
      if watched[1].revents != 0 { accept(at: listener, &clients) }
    }
    for client in clients { close(client.descriptor) }
  }

  private func accept(at listener: Int32, _ clients: inout [Client]) {
    while clients.count < Self.mostClients {
      let descriptor = lanyard_accept4(listener)
      if descriptor == -EMFILE || descriptor == -ENFILE { poll(nil, 0, Self.pauseWhenExhausted) }
      guard descriptor >= 0 else { return }
      clients.append(Client(descriptor: descriptor, deadline: MonotonicTime.now.milliseconds + Self.patience))
    }
  }

  /// Closes what has ended, and what is too slow.
  private func end(_ clients: inout [Client]) {
    let now = MonotonicTime.now.milliseconds
    clients.removeAll { client in
      guard client.isOver || now >= client.deadline else { return false }
      close(client.descriptor)
      return true
    }
  }

  private func go(on client: inout Client) {
    if client.answer != nil { return write(&client) }
    guard client.wanted == nil else {
      // It went away meanwhile.
      client.isOver = true
      return
    }
    read(&client)
  }

  private func read(_ client: inout Client) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(client.descriptor, &buffer, buffer.count)
    guard count > 0 else {
      client.isOver = count == 0 || errno != EAGAIN && errno != EINTR
      return
    }
    guard case .complete(let answer) = client.request.receive(buffer.prefix(count)) else { return }
    client.wanted = answer
    if case .refused = answer {
      client.answer { FigurePage.down(nowSeconds: 0) }
      return write(&client)
    }
    // The reading before may still run, and then its own.
    client.deadline = MonotonicTime.now.milliseconds + 3 * Self.patience
  }

  private func write(_ client: inout Client) {
    guard let rest = client.answer else { return }
    let count = rest.withUnsafeBytes { bytes in
      send(client.descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    }
    guard count >= 0 else {
      client.isOver = errno != EAGAIN && errno != EINTR
      return
    }
    client.answer = rest.dropFirst(count)
    client.isOver = count == rest.count
  }
}
