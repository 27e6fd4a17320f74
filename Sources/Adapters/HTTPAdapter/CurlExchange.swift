public import AgentPorts
internal import Glibc

/// `HTTPExchange` on libcurl: HTTP/1.1, each request on a fresh connection that is closed after it.
///
/// Sent exactly once. libcurl resends by itself in one case, when a connection that it reuses turns out to be dead
/// before the first byte of the answer; no connection is ever reused here. A `417` would make it resend without
/// `Expect`, which is never sent, and a `401` with credentials of its own, which it is never given.
///
/// Nothing but the request decides what is sent: no redirects, cookies, `.netrc`, HSTS or `Alt-Svc` store. Proxies of
/// the environment are honoured, but never for loopback. `http` is spoken with loopback only.
///
/// TLS 1.2 or later, always verified against the system's trust; pins add to it.
///
/// Where secrets go: request bodies and secret fields are read from guarded memory, answers are written into it. On
/// the way libcurl keeps copies on the heap, which its allocator wipes when it frees them, at the latest with the
/// connection; OpenSSL wipes what it decrypted once it is read. Not wiped: the response's header fields, which are
/// Strings by contract, and what the kernel has in socket buffers.
public final class CurlExchange: HTTPExchange {
  private let loop: CurlLoop
  private let clock: any AgentClock
  private let certificateAuthorities: String?

  /// `certificateAuthorities` names a PEM file that is trusted instead of the system's; it is for tests.
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
