import CPlatform
import CommandSupport
import Glibc
import MetricsExposition

/// Answers scrapers at a unix socket: one thread, one request for each connection.
///
/// A client that is slow holds one of `mostClients` places until its deadline, and holds up no other.
struct FigureServer {
  /// A server scrapes with one connection. More wait in the backlog.
  private static let mostClients = 32
  /// From the begin of a connection until its request is there, and from then until its answer is taken.
  private static let patience: Int64 = 5_000
  /// With no descriptors left, `accept` fails at once while connections wait.
  private static let pauseWhenExhausted: Int32 = 100

  private struct Client {
    let descriptor: Int32
    var deadline: Int64
    var request = ScrapeRequest()
    /// What is still to be sent; nil while the request is read.
    var answer: ArraySlice<UInt8>?
    var isOver = false
  }

  private let socket: FigureSocket
  private let labels: [FigurePage.Label]

  init(_ socket: FigureSocket, _ labels: [FigurePage.Label]) { (self.socket, self.labels) = (socket, labels) }

  /// Serves until a signal, and removes the socket then.
  func run() throws(CommandFailure) {
    let interruption = try Interruption()
    let listener = try socket.open()
    let own = FigureSocket.Identity(socket.path)
    defer { socket.close(listener, madeAs: own) }
    _ = lanyard_notify("READY=1")
    Output.note("The figures are at \(Text.shown(socket.path)). Ctrl-C ends this.")
    var clients: [Client] = []
    while !interruption.isPending {
      var watched = [
        pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: clients.count < Self.mostClients ? listener : -1, events: Int16(POLLIN), revents: 0),
      ]
      watched += clients.map {
        pollfd(fd: $0.descriptor, events: Int16($0.answer == nil ? POLLIN : POLLOUT), revents: 0)
      }
      let next = clients.map { max(0, $0.deadline - Stopwatch.milliseconds) }.min() ?? -1
      guard poll(&watched, nfds_t(watched.count), Int32(next)) >= 0 || errno == EINTR else { continue }
      if watched[0].revents != 0 { break }
      for index in clients.indices where watched[index + 2].revents != 0 { go(on: &clients[index], interruption) }
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
      clients.append(Client(descriptor: descriptor, deadline: Stopwatch.milliseconds + Self.patience))
    }
  }

  /// Closes what has ended, and what is too slow.
  private func end(_ clients: inout [Client]) {
    let now = Stopwatch.milliseconds
    clients.removeAll { client in
      guard client.isOver || now >= client.deadline else { return false }
      close(client.descriptor)
      return true
    }
  }

  private func go(on client: inout Client, _ interruption: Interruption) {
    if client.answer == nil { read(&client, interruption) }
    if client.answer != nil { write(&client) }
  }

  private func read(_ client: inout Client, _ interruption: Interruption) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(client.descriptor, &buffer, buffer.count)
    guard count > 0 else {
      client.isOver = count == 0 || errno != EAGAIN && errno != EINTR
      return
    }
    guard case .complete(let answer) = client.request.receive(buffer.prefix(count)) else { return }
    let labels = labels
    client.answer = answer.bytes { FigureReader.page(interruption: interruption).0.labeled(labels) }[...]
    client.deadline = Stopwatch.milliseconds + Self.patience
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
