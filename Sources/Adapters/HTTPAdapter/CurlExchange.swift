public import AgentPorts
internal import Glibc

/// `HTTPExchange` on libcurl: HTTP/1.1, each request on a fresh connection that is closed after it.
///
/// Sends each request exactly once. libcurl resends in three cases, and none can arise: after a dead reused connection
/// (no connection is reused), after a `417` (`Expect` is never sent), and after a `401` with credentials of its own
/// (libcurl is given none).
///
/// The request alone decides what is sent: no redirects, cookies, `.netrc`, HSTS or `Alt-Svc` store. Proxies of the
/// environment are honoured, but never for loopback. `http` is allowed for loopback only.
///
/// TLS 1.2 or later, always verified against the system's trust; pins are checked in addition.
///
/// Request bodies and secret fields are read from guarded memory, and response bodies are written into it. libcurl's
/// copies on the heap are wiped when its allocator frees them, at the latest with the connection; OpenSSL wipes
/// decrypted bytes once they are read. Not wiped: the response's header fields, which are Strings by contract, and the
/// kernel's socket buffers.
public final class CurlExchange: HTTPExchange {
  private let loop: CurlLoop
  private let clock: any AgentClock
  private let certificateAuthorities: String?

  /// `certificateAuthorities` names a PEM file that is trusted instead of the system's; for tests.
  public convenience init(clock: any AgentClock, certificateAuthorities: String? = nil) {
    self.init(
      clock: clock, certificateAuthorities: certificateAuthorities, lingerMilliseconds: CurlLoop.lingerMilliseconds)
  }

  init(clock: any AgentClock, certificateAuthorities: String? = nil, lingerMilliseconds: Int32) {
    self.clock = clock
    self.certificateAuthorities = certificateAuthorities
    self.loop = CurlLoop(lingerMilliseconds: lingerMilliseconds)
  }

  public func send(_ request: HTTPRequest) async -> HTTPOutcome {
    let plan: TransferPlan
    switch TransferPlan.make(request, certificateAuthorities: certificateAuthorities) {
    case .success(let made): plan = made
    case .failure(let refusal): return refusal.outcome
    }
    let transfer = Transfer(plan, clock: clock)
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        transfer.onEnd { continuation.resume(returning: $0) }
        loop.start(transfer)
      }
    } onCancel: {
      transfer.cancel()
      loop.wake()
    }
  }
}
