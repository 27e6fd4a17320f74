public import AgentPorts
internal import LoopbackHTTP
internal import Synchronization
internal import Threads

/// Opens URLs in the person's browser, which the broker starts (`BrowserProgram`), and keeps them from the other users of
/// this machine (`ForwardingPage`).
public struct DesktopBrowser: BrowserOpener {
  /// The time that a browser has to start.
  private static let patienceMilliseconds: Int = 30_000

  /// Pages that wait for a browser at once; a person opens one or two.
  private static let mostPages = 4
  private let waiting = WaitingPages()

  private final class WaitingPages: Sendable {
    let count = Atomic(0)
  }

  private let broker: Broker

  public init(broker: Broker) { self.broker = broker }

  public func open(_ url: String) {
    // `HTTPURL` has checked the URL: it is no path and no option.
    guard url.hasPrefix("https://") || url.hasPrefix("http://") else { return }
    let waiting = waiting
    let isAdmitted = waiting.count.wrappingAdd(1, ordering: .relaxed).newValue <= Self.mostPages
    guard isAdmitted, let page = try? ForwardingPage(to: url), broker.ask(.browser, page.url) != nil,
      DetachedThread.start({
        _ = page.wait(milliseconds: Self.patienceMilliseconds)
        page.close()
        waiting.count.wrappingSubtract(1, ordering: .relaxed)
      })
    else {
      waiting.count.wrappingSubtract(1, ordering: .relaxed)
      return
    }
  }
}
