public import Secrets

/// Opens the loopback redirect URI of a sign-in (RFC 8252 §7.3).
public protocol RedirectListenerFactory: Sendable {
  /// Listens on a loopback host. A nil `port` takes a free one. `onRequest` gets the query string of each GET request
  /// to `path`, which may hold a code, and returns the page to show. `onRefusal` is told of each request that does not
  /// reach it. It listens until `stop()`, which `onRequest` may cause: the page is shown all the same.
  ///
  /// - Throws: `RedirectFailure` if the listener can't be opened.
  func listen(
    host: String, port: UInt16?, path: String, onRequest: @escaping @Sendable (Secret) async -> RedirectPage,
    onRefusal: @escaping @Sendable (RedirectRefusal) -> Void
  ) throws(RedirectFailure) -> any RedirectListener
}

/// An open redirect URI.
public protocol RedirectListener: Sendable {
  /// The `redirect_uri` for the authorization request.
  var redirectURI: String { get }
  /// Closes the listener.
  func stop()
}

/// The page that the browser shows after the sign-in.
public struct RedirectPage: Sendable {
  /// The HTTP status code.
  public var status: Int
  /// The whole document; outside text in it is escaped already.
  public var html: String

  public init(status: Int, html: String) {
    self.status = status
    self.html = html
  }
}

/// Why a request to a redirect URI was refused before its answer was read. The raw values are those of the contract.
public enum RedirectRefusal: String, Sendable, CaseIterable {
  /// The connection is another user's.
  case anotherUser
  /// Another path of the same listener.
  case anotherPath
  /// No GET.
  case anotherMethod
  /// The head is larger than the listener takes: cookies of other programs of this machine.
  case tooLarge
  /// No request that can be read, or for a host that is not this machine.
  case malformed
  /// The answer has the `state` of no sign-in that waits there.
  case foreignState
}

/// Why a redirect URI could not be opened.
public enum RedirectFailure: Error, Sendable {
  /// Another process listens on the configured port.
  case portBusy(UInt16)
  /// The configured host is no loopback host.
  case notLoopback
  /// The system refused the socket.
  case unavailable
}
