public import AgentModel
public import AgentPorts
internal import CurlTransfers
internal import Glibc
internal import Synchronization

/// `HTTPExchange` on libcurl: HTTP/1.1, each request on a fresh connection that is closed after it, unless it allows
/// more (`HTTPRequest.reuse`).
///
/// Sends each request exactly once. libcurl resends in three cases: after a `417` (`Expect` is never sent), after a `401`
/// with credentials of its own (libcurl is given none), and after a kept connection that ended without a byte of a
/// response, also a request that the server has read. The last is allowed only to requests that say so, and only once
/// (`TransferConnection.take`).
///
/// The request alone decides what is sent: no redirects, cookies, `.netrc`, HSTS or `Alt-Svc` store. A proxy comes from
/// the request, else from the defaults, else from the environment, but never for loopback. `http` is allowed for
/// loopback only.
///
/// TLS 1.2 or later, always verified against the authorities of the request, else of the defaults, else of the system;
/// pins are checked in addition.
///
/// Request bodies and secret fields are read from guarded memory, and response bodies are written into it. libcurl's
/// copies on the heap are wiped when its allocator frees them, at the latest with the connection; OpenSSL wipes
/// decrypted bytes once they are read. Not wiped: the response's header fields, which are Strings by contract, and the
/// kernel's socket buffers.
///
/// A request with `beforeSending` runs on a loop of its own, whose thread waits while the caller decides.
public final class CurlExchange: HTTPExchange {
  private let loop: CurlLoop
  /// Loops for requests with `beforeSending` that none uses now; the one used last is the last.
  private let idleLoops = Mutex<[CurlLoop]>([])
  private let kept: KeptConnections
  private let lingerMilliseconds: Int32
  private let clock: any AgentClock
  private let defaults: ConnectionDefaults
  private let authorityFiles: AuthorityFiles?
  /// The files of authorities that libcurl could open for the last request that looked.
  private let readableFiles = Mutex<Set<String>>([])

  /// - Parameter certificates: reads a file of authorities, where libcurl can't open it itself; nil if it can't be read.
  public convenience init(
    clock: any AgentClock, defaults: ConnectionDefaults = ConnectionDefaults(),
    certificates: (@Sendable (String) async -> [UInt8]?)? = nil
  ) {
    self.init(
      clock: clock, defaults: defaults, lingerMilliseconds: CurlLoop.lingerMilliseconds,
      keepingMilliseconds: CurlLoop.keepingMilliseconds, certificates: certificates)
  }

  package init(
    clock: any AgentClock, defaults: ConnectionDefaults = ConnectionDefaults(), lingerMilliseconds: Int32,
    keepingMilliseconds: Int32 = CurlLoop.keepingMilliseconds,
    certificates: (@Sendable (String) async -> [UInt8]?)? = nil
  ) {
    authorityFiles = certificates.map { AuthorityFiles($0) }
    self.clock = clock
    self.defaults = defaults
    self.lingerMilliseconds = lingerMilliseconds
    self.loop = CurlLoop(lingerMilliseconds: lingerMilliseconds)
    self.kept = KeptConnections(lingerMilliseconds: keepingMilliseconds)
  }

  /// By opening it: access(2) knows nothing of Landlock.
  private static func isReadable(_ path: String) -> Bool {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return false }
    close(file)
    return true
  }

  private static let mostAuthorityBytes = 8 << 20

  /// Nil for what is no file, or too large for one of authorities.
  private static func content(of path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= mostAuthorityBytes else {
      return nil
    }
    return [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
      while count < buffer.count {
        let got = pread(file, buffer.baseAddress! + count, buffer.count - count, off_t(count))
        if got <= 0 { break }
        count += got
      }
    }
  }

  public func send(_ request: HTTPRequest) async -> HTTPOutcome {
    let plan: TransferPlan
    switch await self.plan(of: request) {
    case .success(let made): plan = made
    case .failure(let refusal): return refusal.outcome
    }
    let transfer = Transfer(plan, clock: clock)
    guard let beforeSending = request.beforeSending else {
      let loop = plan.reuse.map { kept.loop(for: KeptConnections.Key(user: $0.user, plan)) } ?? loop
      return await run(transfer, on: loop)
    }
    let own = idleLoops.withLock { $0.popLast() } ?? CurlLoop(lingerMilliseconds: lingerMilliseconds)
    defer { idleLoops.withLock { $0.append(own) } }
    return await run(transfer, on: own) { await send(transfer, on: own, asking: beforeSending) }
  }

  public func begin(
    _ request: HTTPRequest, _ cancellation: Cancellation, ended: @escaping @Sendable (HTTPOutcome) -> Void
  ) -> Bool {
    guard request.beforeSending == nil, case .success(let plan) = TransferPlan.make(request, defaults),
      let reuse = plan.reuse, needsNoReading(plan)
    else { return false }  // `send` tells why a request is refused.
    let transfer = Transfer(plan, clock: clock)
    let loop = kept.loop(for: KeptConnections.Key(user: reuse.user, plan))
    transfer.onEnd { [self] outcome in
      cancellation.workEnded()
      noteReadable(plan, outcome)
      ended(outcome)
    }
    cancellation.onCancel { Self.cancel(transfer, on: loop) }
    loop.start(transfer)
    return true
  }

  public func serverKey(for request: HTTPRequest) async -> ServerKey {
    var request = request
    (request.pins, request.beforeSending) = ([], nil)
    let plan: TransferPlan
    switch await self.plan(of: request, readsServerKey: true) {
    case .success(let made): plan = made
    case .failure(let refusal): return .failed(refusal.outcome)
    }
    let transfer = Transfer(plan, clock: clock)
    let outcome = await run(transfer, on: loop)
    return transfer.serverKey.map { .pin($0) } ?? .failed(outcome)
  }

  public func hasCertificates(at path: String) async -> Bool {
    let content = await Self.isReadable(path) ? Self.content(of: path) : authorityFiles?.certificates(of: path)
    return content.map(PEMCertificates.isFile) ?? false
  }

  public func trust(of request: HTTPRequest) -> TrustSettings { defaults.trust(of: request) }

  public func closeConnections(of user: String?) { kept.close(of: user) }

  private func plan(
    of request: HTTPRequest, readsServerKey: Bool = false
  ) async -> Result<TransferPlan, TransferPlan.Refusal> {
    let made = TransferPlan.make(request, defaults, readsServerKey: readsServerKey)
    guard case .success(var plan) = made, let file = plan.request.trust.authorities.file else { return made }
    let isReadable = Self.isReadable(file)
    readableFiles.withLock { files in
      if isReadable { files.insert(file) } else { files.remove(file) }
    }
    if !isReadable { plan.request.certificates = await authorityFiles?.certificates(of: file) }
    return .success(plan)
  }

  /// After a failure the file of authorities may be readable no more: the next request looks.
  private func noteReadable(_ plan: TransferPlan, _ outcome: HTTPOutcome) {
    guard let file = plan.request.trust.authorities.file else { return }
    if case .response = outcome { return }
    readableFiles.withLock { _ = $0.remove(file) }
  }

  /// True if libcurl finds the authorities by itself.
  private func needsNoReading(_ plan: TransferPlan) -> Bool {
    guard plan.request.url.scheme == .https, let file = plan.request.trust.authorities.file else { return true }
    return readableFiles.withLock { $0.contains(file) }
  }

  private static func cancel(_ transfer: Transfer, on loop: CurlLoop) {
    transfer.cancel()
    loop.wake()
  }

  private func run(_ transfer: Transfer, on loop: CurlLoop) async -> HTTPOutcome {
    await run(transfer, on: loop) {
      await withCheckedContinuation { continuation in
        transfer.onEnd { continuation.resume(returning: $0) }
        loop.start(transfer)
      }
    }
  }

  private func run(
    _ transfer: Transfer, on loop: CurlLoop, _ body: () async -> HTTPOutcome
  ) async -> HTTPOutcome {
    await withTaskCancellationHandler {
      await body()
    } onCancel: {
      Self.cancel(transfer, on: loop)
    }
  }

  /// The request as far as the connection, and then to its end.
  private func send(
    _ transfer: Transfer, on loop: CurlLoop, asking beforeSending: @Sendable () async -> Bool
  ) async -> HTTPOutcome {
    let pending = PendingConsent()
    let consent = Consent { pending.take()?.resume(returning: nil) }
    let ended: HTTPOutcome? = await withCheckedContinuation { continuation in
      pending.put(continuation)
      transfer.require(consent)
      transfer.onEnd { pending.take()?.resume(returning: $0) }
      loop.start(transfer)
    }
    if let ended { return ended }
    let isGiven = await beforeSending()
    return await withCheckedContinuation { continuation in
      transfer.onEnd { continuation.resume(returning: $0) }
      consent.answer(isGiven)
    }
  }
}

/// Waits for the connection, or for the end without one: nil, or the outcome.
private final class PendingConsent: Sendable {
  private let continuation = Mutex<CheckedContinuation<HTTPOutcome?, Never>?>(nil)

  func put(_ continuation: CheckedContinuation<HTTPOutcome?, Never>) {
    self.continuation.withLock { $0 = continuation }
  }

  func take() -> CheckedContinuation<HTTPOutcome?, Never>? { continuation.withLock { $0.take() } }
}
