public import Foundation
public import LanyardClient

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Sends requests with the access token of an account, as `URLSession` sends them without.
///
/// ```swift
/// let session = LanyardSession(lanyard, account: "work", origins: ["https://api.example"])
/// let (data, response) = try await session.data(from: URL(string: "https://api.example/me")!)
/// ```
///
/// The token goes to the named origins only, and only over https or to a loopback address. It never follows a redirect
/// to another origin, named or not: such a redirect is followed without it.
///
/// When a server answers 401, the session reports the token and sends the request once more with the next one, unless
/// the body is a stream. A second 401 is returned. A bound token (DPoP, RFC 9449) goes with a proof for each request,
/// which is made again when the server asks for a nonce of its own.
public final class LanyardSession: Sendable {
  /// The number of redirects that are followed.
  static let largestRedirects = 20

  private let authorizer: Authorizer
  private let transport: Transport

  /// Makes a session for one account.
  ///
  /// - Parameters:
  ///   - lanyard: The client, whose connection the session shares.
  ///   - account: An id, an alias, or `@active`.
  ///   - origins: Where the token may go, such as `https://api.example`.
  ///   - scopes: The scopes of the token. Nil for those that were granted.
  ///   - resource: The resource (RFC 8707) that the token is for.
  ///   - configuration: The configuration of the `URLSession` behind.
  public init(
    _ lanyard: Lanyard, account: String, origins: [String], scopes: [String]? = nil, resource: String? = nil,
    configuration: URLSessionConfiguration = .ephemeral
  ) {
    authorizer = Authorizer(
      lanyard: lanyard, account: account, origins: Set(origins.compactMap { Origin($0) }), scopes: scopes,
      resource: resource)
    transport = Transport(configuration: configuration)
  }

  deinit { transport.session.finishTasksAndInvalidate() }

  /// Sends a GET request.
  ///
  /// - Throws: as ``data(for:)``.
  public func data(from url: URL) async throws -> (Data, HTTPURLResponse) {
    try await data(for: URLRequest(url: url))
  }

  /// Sends a request, and returns the answer of any status.
  ///
  /// - Throws: `LanyardError`: `originRefused` if the URL's origin was not named, before anything is sent; else what
  ///   the agent answers. `URLError` as `URLSession` throws it.
  public func data(for request: URLRequest) async throws -> (Data, HTTPURLResponse) {
    guard let url = request.url, let origin = authorizer.covered(url) else {
      throw LanyardError.refusedOrigin
    }
    var (data, response) = try await authorizer.send(request, to: origin, by: transport)
    var current = request
    var carriesToken = true
    for _ in 0..<Self.largestRedirects {
      guard let next = Redirect.request(after: current, response) else { break }
      if next.url.flatMap(Origin.init) != origin { carriesToken = false }
      current = carriesToken ? next : Redirect.bare(next)
      (data, response) =
        carriesToken
        ? try await authorizer.send(current, to: origin, by: transport) : try await transport.send(current)
    }
    return (data, response)
  }
}

extension LanyardError {
  static let refusedOrigin = LanyardError(
    .originRefused, "the URL's origin is not among those that the session may send the token to; nothing was sent")
}
