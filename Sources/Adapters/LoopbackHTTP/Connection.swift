import Glibc
import Threads

/// One accepted connection: read a request, ask the handler, perform its reply, close.
struct Connection: ~Copyable {
  /// A browser and a local client send at once; a slower peer would hold a thread.
  static let requestMilliseconds: Int = 10_000
  /// The longest time that a peer may leave its response unread.
  static let writeMilliseconds: Int = 10_000
  /// The time to wait for the peer's close after the response, so that the kernel's RST does not overtake it.
  static let lingerMilliseconds: Int = 1_000

  let descriptor: Descriptor
  let stop: StopSignal
  /// What the listener's own refusals carry besides.
  let refusalHeaders: [(name: String, value: String)]

  init(_ descriptor: consuming Descriptor, stop: StopSignal, refusalHeaders: [(name: String, value: String)]) {
    self.descriptor = descriptor
    self.stop = stop
    self.refusalHeaders = refusalHeaders
  }

  func serve(
    reading makeReader: () -> RequestReader, onUnreadable: (Int) -> Void, handler: (HTTPRequest) -> HTTPReply
  ) {
    switch readRequest(by: makeReader()) {
    case .request(let request): perform(handler(request), isHead: request.method == "HEAD")
    case .refused(let status):
      onUnreadable(status)
      answer(.text(HTTPResponse.reason(status) + "\n", status: status).adding(refusalHeaders))
    case .gone: break
    }
  }

  private enum Outcome {
    case request(HTTPRequest)
    case refused(Int)
    case gone
  }

  private func readRequest(by reader: RequestReader) -> Outcome {
    var reader = reader
    defer { reader.wipe() }
    let deadline = MonotonicTime.now.milliseconds + Self.requestMilliseconds
    var chunk = [UInt8](repeating: 0, count: 16 * 1024)
    defer { chunk.wipe(first: chunk.count) }
    while true {
      switch stop.wait(
        for: [descriptor.number], events: POLLIN, milliseconds: max(0, deadline - MonotonicTime.now.milliseconds))
      {
      case .stopped: return .gone
      case .timedOut: return .refused(408)
      case .ready: break
      }
      let count = recv(descriptor.number, &chunk, chunk.count, 0)
      if count < 0 && (errno == EAGAIN || errno == EINTR) { continue }
      guard count > 0 else { return .gone }
      switch reader.receive(chunk[..<count]) {
      case .needsMore: continue
      case .expectsContinue: guard send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) else { return .gone }
      case .request(let request): return .request(request)
      case .refused(let status): return .refused(status)
      }
    }
  }

  private func perform(_ reply: HTTPReply, isHead: Bool) {
    switch reply {
    case .respond(let response, let delay):
      guard pause(delay) else { return }
      answer(response, sendingBody: !isHead)
    case .drop(let delay, let reset):
      guard pause(delay) else { return }
      if reset { resetOnClose() }
    case .hang:
      awaitPeer(milliseconds: -1)
    case .truncate(let response, let bodyBytes):
      var cut = response
      cut.body = Array(response.body.prefix(bodyBytes))
      finish(cut.serialized(announcing: response.body.count))
    case .endlessBody(let response):
      guard send(response.serialized(sendingBody: false, lengthKnown: false)) else { return }
      let piece = response.body.isEmpty ? [UInt8](repeating: 0x20, count: 4096) : response.body
      while !stop.isRaised && send(piece) {}
    case .raw(let bytes):
      finish(bytes)
    case .stream(let response, let body):
      let head = response.serialized(sendingBody: false, lengthKnown: false)
      guard !isHead else { return finish(head) }
      guard send(head) else { return }
      body(HTTPStream(number: descriptor.number, stop: stop))
    }
  }

  private func answer(_ response: HTTPResponse, sendingBody: Bool = true) {
    finish(response.serialized(sendingBody: sendingBody))
  }

  private func finish(_ bytes: [UInt8]) {
    guard send(bytes) else { return }
    shutdown(descriptor.number, Int32(SHUT_WR))
    awaitPeer(milliseconds: Self.lingerMilliseconds)
  }

  /// False if the listener stops meanwhile.
  private func pause(_ milliseconds: Int) -> Bool {
    milliseconds <= 0 || stop.wait(milliseconds: Int(milliseconds)) == .timedOut
  }

  /// Reads and discards until the peer closes, the listener stops or the time is over. If unread bytes remain when a
  /// socket is closed, the kernel sends RST, which can destroy a response that the peer has not read yet.
  private func awaitPeer(milliseconds: Int) {
    let deadline = milliseconds < 0 ? nil : MonotonicTime.now.milliseconds + milliseconds
    var chunk = [UInt8](repeating: 0, count: 16 * 1024)
    while true {
      let count = recv(descriptor.number, &chunk, chunk.count, 0)
      if count > 0 && (deadline ?? .max) > MonotonicTime.now.milliseconds { continue }
      guard count < 0, errno == EAGAIN || errno == EINTR else { return }
      let left = deadline.map { max(0, $0 - MonotonicTime.now.milliseconds) } ?? -1
      guard stop.wait(for: [descriptor.number], events: POLLIN, milliseconds: left) == .ready else { return }
    }
  }

  /// False if the peer is gone, or did not read in time. A stop does not interrupt bytes that the kernel takes at once:
  /// the page that ends a sign-in is sent by a listener that is being stopped.
  private func send(_ bytes: [UInt8]) -> Bool { Self.send(bytes, to: descriptor.number, stop: stop) }

  static func send(_ bytes: [UInt8], to number: Int32, stop: StopSignal) -> Bool {
    let deadline = MonotonicTime.now.milliseconds + Self.writeMilliseconds
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count > 0 {
        sent += count
        continue
      }
      guard errno == EAGAIN || errno == EINTR else { return false }
      let left = max(0, deadline - MonotonicTime.now.milliseconds)
      guard stop.wait(for: [number], events: POLLOUT, milliseconds: left) == .ready else { return false }
    }
    return true
  }

  private func resetOnClose() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor.number, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}
