internal import Foundation
internal import LanyardClient

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// Gives requests their token and proof, and answers a 401 once.
final class Authorizer: Sendable {
  private let lanyard: Lanyard
  private let account: String
  private let origins: Set<Origin>
  private let scopes: [String]?
  private let resource: String?
  /// The last `DPoP-Nonce` of each origin (RFC 9449 §8.2).
  private let nonces = Locked<[Origin: String]>([:])

  init(lanyard: Lanyard, account: String, origins: Set<Origin>, scopes: [String]?, resource: String?) {
    self.lanyard = lanyard
    self.account = account
    self.origins = origins
    self.scopes = scopes
    self.resource = resource
  }

  /// The origin of the URL, if the token may go there.
  func covered(_ url: URL) -> Origin? {
    guard let origin = Origin(url), origin.isSafe, origins.contains(origin) else { return nil }
    return origin
  }

  /// Sends a request with a token. One that is refused is reported, and the request is sent once more.
  func send(
    _ request: URLRequest, to origin: Origin, by transport: Transport
  ) async throws -> (Data, HTTPURLResponse) {
    let token = try await lanyard.token.get(account: account, scopes: scopes, resource: resource)
    let answer = try await send(request, with: token, to: origin, by: transport)
    guard answer.1.statusCode == 401, !(token.isBound && Self.asksForNonce(answer.1)) else { return answer }
    let next = try await lanyard.token.reject(
      account: account, fingerprint: token.fingerprint, challenge: Self.challenge(of: answer.1))
    guard request.httpBodyStream == nil else { return answer }
    return try await send(request, with: next, to: origin, by: transport)
  }

  /// Sends a request with this token, and once more if the server asks for a nonce: it has not processed the request.
  private func send(
    _ request: URLRequest, with token: Token, to origin: Origin, by transport: Transport
  ) async throws -> (Data, HTTPURLResponse) {
    let answer = try await transport.send(try await authorized(request, by: token, to: origin))
    let nonce = answer.1.value(forHTTPHeaderField: "DPoP-Nonce")
    if let nonce { nonces.withLock { $0[origin] = nonce } }
    guard token.isBound, nonce != nil, request.httpBodyStream == nil, Self.asksForNonce(answer.1) else { return answer }
    return try await transport.send(try await authorized(request, by: token, to: origin))
  }

  private func authorized(_ request: URLRequest, by token: Token, to origin: Origin) async throws -> URLRequest {
    var request = request
    request.setValue("\(token.tokenType) \(token.accessToken.reveal())", forHTTPHeaderField: "Authorization")
    guard token.isBound, let url = request.url else { return request }
    let proof = try await lanyard.token.proof(
      account: account, method: request.httpMethod ?? "GET", url: url.absoluteString,
      fingerprint: token.fingerprint, nonce: nonces.withLock { $0[origin] })
    request.setValue(proof.proof.reveal(), forHTTPHeaderField: "DPoP")
    return request
  }

  /// True if the server refuses a proof for its nonce alone (RFC 9449 §9): the token is not at fault.
  private static func asksForNonce(_ response: HTTPURLResponse) -> Bool {
    response.statusCode == 401 && challenge(of: response)?.contains("use_dpop_nonce") == true
  }

  /// The challenge, if it is one that the agent takes.
  private static func challenge(of response: HTTPURLResponse) -> String? {
    guard let challenge = response.value(forHTTPHeaderField: "WWW-Authenticate"),
      (1...4096).contains(challenge.unicodeScalars.count)
    else { return nil }
    return challenge
  }
}

extension Token {
  /// True if the token needs a proof of possession.
  fileprivate var isBound: Bool { tokenType.lowercased() == "dpop" }
}
