internal import AgentCore
internal import AgentModel
internal import CurlTransfers
internal import MCPBridge
internal import StreamingHTTP

/// Asks the server for the metadata of its resource.
struct MetadataReader {
  let client: HTTPClient
  let trust: TrustSettings
  let server: HTTPURL
  let cancellation: HTTPCancellation

  /// For the whole document.
  private static let milliseconds = 10_000

  /// A document that repeats the refused token is none.
  func read(_ challenges: [AuthenticationChallenge], _ refused: Credential?) throws(BridgeFailure) -> ResourceMetadata {
    let named = challenges.compactMap { $0.parameters["resource_metadata"] }.first
    let places = ResourceMetadata.places(for: server, named: named)
    guard !places.isEmpty else {
      throw Self.failure("The server demands a sign-in and names metadata at a place that may not be read.")
    }
    for place in places {
      guard let bytes = document(at: place.url) else { continue }
      do throws(ResourceMetadata.Failure) {
        return try bytes.withBytes { (bytes) throws(ResourceMetadata.Failure) in
          guard refused?.isRepeated(in: bytes) != true else { throw .malformed }
          return try ResourceMetadata(bytes, from: place, of: server)
        }
      } catch {
        switch error {
        case .malformed: throw Self.failure("The metadata of the server's resource is not valid.")
        case .localAuthorizationServer:
          throw Self.failure("The metadata of the server's resource names an authorization server on this machine.")
        case .otherResource:
          throw Self.failure("The metadata of the server's resource is for another resource than \(server.text).")
        }
      }
    }
    throw Self.failure(
      "The server demands a sign-in and does not say where: it has no metadata of its resource (RFC 9728).")
  }

  /// Nil unless the answer is a document. Redirects are not followed.
  private func document(at url: HTTPURL) -> WipedBytes? {
    var request = OutgoingRequest("GET", url, fields: [RequestField("Accept", "application/json")])
    request.trust = trust
    request.totalMilliseconds = Self.milliseconds
    let body = WipedBytes()
    let result = client.perform(request, cancellation: cancellation) { head in
      head.status == 200
    } onBody: { piece in
      body.append(piece)
      return body.count <= ResourceMetadata.maximumBytes
    }
    return result == .complete ? body : nil
  }

  private static func failure(_ message: String) -> BridgeFailure {
    BridgeFailure(
      BridgeFailure.Code.authorizationFailed, "noAuthorizationServer", message + " So no sign-in can be begun.")
  }
}
