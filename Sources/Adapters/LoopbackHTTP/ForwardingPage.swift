import Glibc
import Synchronization

/// A page on a loopback port that sends a browser of this user on to an address, once.
///
/// A browser is started with an address as its argument, and every user of the machine can read arguments
/// (proc_pid_cmdline(5)). An authorization request there could be answered by another user, who would then be signed in
/// here; the address of an RP-initiated logout holds an ID token. The address of this page is worth nothing to others.
public final class ForwardingPage: Sendable {
  /// The address for the browser's command line.
  public let url: String
  private let listener: LoopbackListener
  private let fetched: StopSignal

  /// Listens as soon as this returns, until `close` or until it is released.
  public init(to address: String) throws(LoopbackError) {
    let fetched = try StopSignal()
    let path = "/" + Self.randomName()
    let isTaken = TakenFlag()
    listener = try LoopbackListener(
      host: "127.0.0.1", port: 0, admitted: .thisUserAndRoot(onForeign: {}), maximumBodyBytes: 0
    ) { request in
      guard request.path == path else { return .respond(.text("Not found.\n", status: 404)) }
      guard request.method == "GET" else { return .respond(.text("Only GET.\n", status: 405)) }
      guard isTaken.take() else { return .respond(.text("This page was opened already.\n", status: 410)) }
      fetched.raise()
      var onward = HTTPResponse.redirect(to: address, status: 303)
      onward.headers += [("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer")]
      return .respond(onward)
    }
    url = "http://127.0.0.1:\(listener.port)\(path)"
    self.fetched = fetched
  }

  /// Waits until a browser has fetched it. False if none did in time.
  public func wait(milliseconds: Int) -> Bool { fetched.wait(milliseconds: milliseconds) == .stopped }

  /// Closes the port, after a response that is being sent.
  public func close() { listener.stop() }

  private final class TakenFlag: Sendable {
    private let isTaken = Atomic(false)

    /// True the first time.
    func take() -> Bool { !isTaken.exchange(true, ordering: .acquiringAndReleasing) }
  }

  private static func randomName() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<2).map { _ in String(generator.next() as UInt64, radix: 36) }.joined()
  }
}
