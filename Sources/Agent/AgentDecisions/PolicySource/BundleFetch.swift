internal import AgentCore
internal import AgentModel
internal import AgentPermissions
internal import AgentPorts
internal import Secrets

/// One fetch from the source: the bundle, and if it is another one its signature. Each is asked for once, and no
/// redirect is followed.
struct BundleFetch {
  /// Why nothing was brought, and what the server asked for.
  struct Failure: Error {
    var refusal: BundleRefusal
    var retryAfter: Milliseconds?
  }

  let source: PolicySource
  let http: any HTTPExchange

  /// - Parameter entityTag: of the bundle that is kept, from this URL.
  func perform(entityTag: String?) async throws(Failure) -> PolicySourceStore.Fetched {
    let condition = entityTag.map { [HTTPField("If-None-Match", $0)] } ?? []
    let answer = try await get(source.url.text, condition, atMost: PolicyBundle.maximumBytes)
    if answer.status == 304, entityTag != nil { return .unchanged }
    guard answer.status == 200 else { throw failure(.unexpectedStatus(answer.status), answer) }
    let beside = try await get(source.signatureURL, [], atMost: MinisignSignature.maximumBytes)
    guard beside.status == 200 else { throw failure(.noSignature(beside.status), beside) }
    let bytes = answer.body.withBytes { [UInt8]($0) }
    // The signature first: what is not signed is not read.
    guard let signature = MinisignSignature(parsing: beside.body.withBytes { [UInt8]($0) }) else {
      throw Failure(refusal: .malformedSignature)
    }
    if let refusal = signature.refusal(of: bytes, by: source.publicKey) { throw Failure(refusal: refusal) }
    do throws(PolicyProblems) {
      return .bundle(bytes, try PolicyBundle(parsing: bytes), entityTag: answer.field("ETag"))
    } catch {
      throw Failure(
        refusal: .malformedBundle(error.list.first ?? PolicyProblem(pointer: "", text: "It is not one.")))
    }
  }

  private func get(_ url: String, _ fields: [HTTPField], atMost bytes: Int) async throws(Failure) -> HTTPResponse {
    var request = HTTPRequest(method: "GET", url: url, fields: [HTTPField("Accept", "*/*")] + fields)
    request.maximumResponseBytes = bytes
    switch await http.send(request) {
    case .response(let response): return response
    case .untrusted: throw Failure(refusal: .untrustedServer)
    case .unknown(.tooLarge, _): throw Failure(refusal: .tooLarge)
    case .notConnected(.proxy(let failure)): throw Failure(refusal: .proxy(failure))
    case .notConnected(.noLibrary(let library)): throw Failure(refusal: .noLibrary(library))
    case .notConnected, .unknown: throw Failure(refusal: .unreachable)
    }
  }

  private func failure(_ refusal: BundleRefusal, _ answer: HTTPResponse) -> Failure {
    // RFC 9110 §10.2.3; a date is left to the machine's own pauses.
    let seconds = answer.field("Retry-After").flatMap { Int64($0) }
    return Failure(refusal: refusal, retryAfter: seconds.map { .seconds(max(0, min($0, 1 << 31))) })
  }
}
