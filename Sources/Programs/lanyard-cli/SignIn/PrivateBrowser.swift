import CommandSupport
import LoopbackHTTP

/// Opens pages in the person's browser, and keeps their address from the other users of this machine
/// (`ForwardingPage`).
enum PrivateBrowser {
  /// The time that a browser has to start.
  private static let patienceSeconds = 15

  /// The page that a browser was asked to open; it listens as long as this is held. Nil if none can be opened here.
  /// `browser` is the command that was named.
  static func open(_ address: String, with browser: String? = nil) -> ForwardingPage? {
    guard Browser.canOpen(browser), Browser.isWebAddress(address), let page = try? ForwardingPage(to: address),
      Browser.open(page.url, with: browser)
    else { return nil }
    return page
  }

  /// Returns once the browser has taken the address over; false if it did not.
  static func hasOpened(_ address: String) -> Bool {
    guard let page = open(address) else { return false }
    defer { page.close() }
    var line = WaitingLine()
    for _ in 0..<patienceSeconds {
      if page.wait(milliseconds: 1_000) { return true }
      line.show("the browser")
    }
    return false
  }
}
