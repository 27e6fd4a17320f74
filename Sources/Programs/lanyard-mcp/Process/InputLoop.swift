internal import CPlatform
internal import Glibc
internal import MCPBridge
internal import Threads

/// Reads the client's lines until the input ends, a signal comes, or the client reads no more.
struct InputLoop {
  let server: any MessageServer
  /// Of `lanyard_signalfd`.
  let signals: Int32

  private static let chunkBytes = 64 << 10

  func run() {
    var splitter = LineSplitter()
    let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.chunkBytes, alignment: 16)
    defer { chunk.deallocate() }
    while true {
      var watched = [
        pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
        pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
        pollfd(fd: server.output.closed.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&watched, nfds_t(watched.count), -1) > 0 else { continue }
      if watched[1].revents != 0 || watched[2].revents != 0 { return server.shutdown.begin(.interrupted) }
      guard watched[0].revents != 0 else { continue }
      let count = read(STDIN_FILENO, chunk.baseAddress!, chunk.count)
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      guard count > 0 else {
        // A line without its newline may be half of a message.
        waitForWork()
        return
      }
      splitter.push(UnsafeRawBufferPointer(rebasing: chunk[..<count]), take)
      explicit_bzero(chunk.baseAddress!, count)
    }
  }

  private func take(_ line: LineSplitter.Line) {
    switch line {
    case .whole(let bytes): server.take(bytes)
    case .tooLong: server.output.write(BridgeFailure.tooLong.line(id: nil))
    }
  }

  /// The input has ended: requests in flight may end, but a signal ends them.
  private func waitForWork() {
    server.shutdown.begin(.endOfInput)
    var watched = [
      pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
      pollfd(fd: server.output.closed.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: server.shutdown.idle.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    while poll(&watched, nfds_t(watched.count), Int32(Shutdown.endOfInputMilliseconds)) < 0, errno == EINTR {}
    if watched[2].revents == 0 { server.shutdown.begin(.interrupted) }
  }
}
