public import AgentPorts
public import Secrets
internal import Synchronization

/// Replaces loopback listeners and the person's browser: an address is open while the agent listens on it.
public final class SimulatedBrowser: RedirectListenerFactory, BrowserOpener {
  private struct State {
    var opened: [String] = []
    var open: [String: @Sendable (Secret) async -> RedirectPage] = [:]
    var nextPort: UInt16 = 49_152
  }
  private let state = Mutex(State())

  public init() {}

  public func listen(
    host: String, port: UInt16?, path: String, onRequest: @escaping @Sendable (Secret) async -> RedirectPage,
    onRefusal: @escaping @Sendable (RedirectRefusal) -> Void
  ) throws(RedirectFailure) -> any RedirectListener {
    guard ["127.0.0.1", "::1", "localhost"].contains(host) else { throw .notLoopback }
    let uri: String? = state.withLock { state in
      let chosen = port ?? state.nextPort
      if port == nil { state.nextPort += 1 }
      let uri = "http://\(host.contains(":") ? "[\(host)]" : host):\(chosen)\(path)"
      guard state.open[uri] == nil else { return nil }
      state.open[uri] = onRequest
      return uri
    }
    guard let uri else { throw .portBusy(port ?? 0) }
    return Listener(browser: self, redirectURI: uri)
  }

  /// Follows a provider's redirect; nil if the agent does not listen there.
  public func visit(_ location: String) async -> RedirectPage? {
    let mark = location.firstIndex(of: "?") ?? location.endIndex
    let uri = String(location[..<mark])
    guard let answer = state.withLock({ $0.open[uri] }) else { return nil }
    return await answer(Secret(text: String(location[mark...].dropFirst())))
  }

  /// Only records the URL: scenarios decide where the person goes.
  public func open(_ url: String) { state.withLock { $0.opened.append(url) } }

  /// The URLs that the agent has opened, in order.
  public var opened: [String] { state.withLock { $0.opened } }

  /// The open addresses, sorted.
  public var listening: [String] { state.withLock { $0.open.keys.sorted() } }

  fileprivate func close(_ uri: String) { state.withLock { $0.open[uri] = nil } }

  /// Closes the listeners of a dead process.
  func closeAll() { state.withLock { $0.open = [:] } }

  private struct Listener: RedirectListener {
    let browser: SimulatedBrowser
    let redirectURI: String
    func stop() { browser.close(redirectURI) }
  }
}
