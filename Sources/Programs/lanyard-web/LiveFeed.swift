internal import CommandSupport
internal import JSONRPC
internal import PageGate
internal import Synchronization
internal import Threads
internal import WebPages

/// Tells open pages what the agent's events change. It has a connection to the agent while a page is open, and blocks on it: where
/// nothing happens, nothing wakes.
final class LiveFeed: Sendable {
  /// One open page.
  final class Watcher: Sendable {
    let page: WebPage
    /// Signalled when the page is to be fetched again.
    let news = WakeUp()
    fileprivate let number: Int

    fileprivate init(_ page: WebPage, _ number: Int) { (self.page, self.number) = (page, number) }
  }

  private struct State {
    var watchers: [Int: Watcher] = [:]
    var count = 0
    var isRunning = false
  }

  private let state = Mutex(State())
  /// Signalled when a page is closed.
  private let closed = WakeUp()

  /// More open pages are not told. Each has a thread.
  private static let mostWatchers = 16
  /// How often an agent that is gone is looked for while a page is open.
  private static let pauseMilliseconds: Int32 = 1_000
  private static let patienceMilliseconds: Int32 = 10_000

  /// Begins to tell a page; nil if too many are open.
  func open(_ page: WebPage) -> Watcher? {
    state.withLock { state in
      guard state.watchers.count < Self.mostWatchers else { return nil }
      state.count += 1
      let watcher = Watcher(page, state.count)
      state.watchers[watcher.number] = watcher
      if !state.isRunning { state.isRunning = DetachedThread.start { [self] in run() } }
      return watcher
    }
  }

  func close(_ watcher: Watcher) {
    state.withLock { _ = $0.watchers.removeValue(forKey: watcher.number) }
    closed.signal()
  }

  /// Follows one agent after the other, until no page is open.
  private func run() {
    while !ends() {
      // Nil: it is gone, or takes no subscription.
      if (try? follow()) != nil { continue }
      tell { _ in true }
      repeat { Pause.milliseconds(Self.pauseMilliseconds, orReadable: closed) } while hasWatchers && !isThere()
    }
  }

  private var hasWatchers: Bool { state.withLock { !$0.watchers.isEmpty } }

  /// True, and the thread is over, if no page is open.
  private func ends() -> Bool {
    state.withLock { state in
      guard state.watchers.isEmpty else { return false }
      state.isRunning = false
      return true
    }
  }

  private func isThere() -> Bool { (try? Agent.connect(mayStart: false, tellsWaiting: false)) != nil }

  /// Tells what the agent's events change, until no page is open.
  private func follow() throws(CommandFailure) {
    let method = "event.subscribe"
    guard AllowedMethods.isRead(method) else { return }
    var connection = try Agent.connect(
      mayStart: false, tellsWaiting: false, patienceMilliseconds: Self.patienceMilliseconds)
    try connection.perform(method)
    // What happened before.
    tell { _ in true }
    while true {
      while let type = try connection.event({ $0["type"]?.string ?? "" }) {
        let pages = WebPage.changes(event: type)
        tell { pages.contains($0) }
      }
      if try connection.wait(interruption: nil, milliseconds: -1, orReadable: closed.descriptor) == .other {
        closed.clear()
        if !hasWatchers { return }
      }
    }
  }

  private func tell(_ concerns: (WebPage) -> Bool) {
    for watcher in state.withLock({ Array($0.watchers.values) }) where concerns(watcher.page) { watcher.news.signal() }
  }
}
