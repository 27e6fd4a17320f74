public import AgentPorts
internal import Glibc
internal import LoopbackHTTP
public import Secrets
internal import Synchronization

/// Receives the redirects of sign-ins on a loopback socket, from browsers of this user alone: another user's answer
/// would sign that user in (docs/callers.md, Redirects of sign-ins).
public struct LoopbackRedirects: RedirectListenerFactory {
  private let executor: any TaskExecutor
  private let log: any AgentLog

  /// Refused connections that one listener logs.
  private static let mostLogged = 10

  /// - Parameter executor: runs `onRequest`, like all tasks of the agent.
  public init(executor: any TaskExecutor, log: any AgentLog) {
    self.executor = executor
    self.log = log
  }

  public func listen(
    host: String, port: UInt16?, path: String, onRequest: @escaping @Sendable (Secret) async -> RedirectPage,
    onRefusal: @escaping @Sendable (RedirectRefusal) -> Void
  ) throws(RedirectFailure) -> any RedirectListener {
    let (executor, log) = (executor, log)
    let refused = Atomic(0)
    let admitted = AdmittedPeers.thisUserAndRoot {
      onRefusal(.anotherUser)
      let count = refused.wrappingAdd(1, ordering: .relaxed).newValue
      if count <= Self.mostLogged {
        log.log(.warning, "redirect of another user refused", [(.count, .number(Int64(count)))])
      }
    }
    do throws(LoopbackError) {
      let listener = try LoopbackListener(
        host: host, port: port ?? 0, admitted: admitted, maximumBodyBytes: 0, keepsQueryApart: true,
        onUnreadable: { status in
          // A browser that opens a connection ahead of time sends nothing on it.
          if status != 408 { onRefusal(status == 431 ? .tooLarge : .malformed) }
        }
      ) { request in
        guard request.path == path else {
          // What a browser asks for by itself.
          if request.path != "/favicon.ico" { onRefusal(.anotherPath) }
          return .respond(.text("Not found.", status: 404))
        }
        guard request.method == "GET" else {
          onRefusal(.anotherMethod)
          return .respond(.text("Only GET.", status: 405))
        }
        let query = request.secretQuery?.withBytes { Secret(copying: $0) } ?? Secret(text: "")
        request.secretQuery?.wipe()
        return .respond(Self.response(wait(on: executor) { await onRequest(query) }))
      }
      return Holder(listener, host: host, path: path)
    } catch {
      switch error {
      case .portBusy(let port): throw .portBusy(port)
      case .notLoopback: throw .notLoopback
      default: throw .unavailable
      }
    }
  }

  /// These headers keep the page from loading, running or framing anything, from being cached, and from leaking its
  /// URL.
  private static func response(_ page: RedirectPage) -> LoopbackHTTP.HTTPResponse {
    LoopbackHTTP.HTTPResponse(
      status: page.status,
      headers: [
        ("Content-Type", "text/html; charset=utf-8"),
        (
          "Content-Security-Policy",
          "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
        ),
        ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
      ], body: Array(page.html.utf8))
  }

  private final class Holder: RedirectListener {
    private let listener: Mutex<LoopbackListener?>
    let redirectURI: String

    init(_ listener: LoopbackListener, host: String, path: String) {
      redirectURI = "http://\(host.contains(":") ? "[\(host)]" : host):\(listener.port)\(path)"
      self.listener = Mutex(listener)
    }

    /// Releasing the listener frees its port without waiting for its threads, one of which may wait for the caller. A
    /// response that is being made is still sent.
    func stop() { listener.withLock { $0 = nil } }
  }
}

/// Blocks the listener's own thread until the agent has judged the redirect: the browser waits for that page alone.
private func wait(
  on executor: any TaskExecutor, _ work: @escaping @Sendable () async -> RedirectPage
) -> RedirectPage {
  let box = Mutex<RedirectPage?>(nil)
  let done = Semaphore()
  // An unstructured task: this thread is outside every task. The agent bounds `work` by the provider's timeouts.
  Task(executorPreference: executor) {
    let page = await work()
    box.withLock { $0 = page }
    done.signal()
  }
  done.wait()
  return box.withLock { $0! }
}
