/// Where the browser ends after a sign-in (RFC 8252 §7.3): a loopback address that takes one answer.
public protocol RedirectListening: Sendable {
  /// Listens on a loopback host; `port` nil takes a free one. `onRequest` gets the path's query string and returns
  /// the page to show; it is asked only for GET requests to `path`.
  func listen(
    host: String, port: UInt16?, path: String, onRequest: @escaping @Sendable (String) async -> RedirectPage
  ) throws(RedirectFailure) -> any RedirectListener
}

public protocol RedirectListener: Sendable {
  /// The redirect URI that the provider is told.
  var redirectURI: String { get }
  func stop()
}

public struct RedirectPage: Sendable {
  public var status: Int
  public var html: String

  public init(status: Int, html: String) {
    self.status = status
    self.html = html
  }
}

public enum RedirectFailure: Error, Sendable { case portBusy(UInt16), notLoopback, unavailable }
