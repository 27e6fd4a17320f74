internal import AgentModel
internal import AgentPorts
internal import CurlTransfers
package import Secrets

/// A request of the agent that may be sent, and how.
struct TransferPlan: Sendable {
  var request: TransferRequest
  let connectTimeout: Int
  let timeout: Int
  let maximumResponseBytes: Int
  /// The response's body is decoded; false where the request names encodings itself.
  let isDecoded: Bool
  let memory: MemoryBudget?
  let isForLimitedCaller: Bool
  let reuse: ConnectionReuse?
  /// Ends once the connection stands: only the server's key is wanted.
  let readsServerKey: Bool

  /// Why a request is refused before anything is sent.
  struct Refusal: Error { let outcome: HTTPOutcome }

  static func make(
    _ request: HTTPRequest, _ defaults: ConnectionDefaults, readsServerKey: Bool = false
  ) -> Result<TransferPlan, Refusal> {
    guard let url = request.parsedURL ?? HTTPURL(request.url) else {
      return .failure(Refusal(outcome: .notConnected(.invalidURL)))
    }
    let isDecoded = !request.fields.contains { FieldSyntax.isName($0.name, "accept-encoding") }
    let made: TransferRequest
    do throws(TransferRequest.Refusal) {
      made = try TransferRequest(
        request.method, url, target: request.target,
        HeaderList(request.fields.map { ($0.name, $0.transferValue) }, in: Secret.self),
        request.body.map { .bytes($0) } ?? .none, defaults.trust(of: request))
    } catch {
      return .failure(Refusal(outcome: error.outcome))
    }
    return .success(
      TransferPlan(
        request: made, connectTimeout: Int(clamping: request.connectTimeout.count),
        timeout: Int(min(max(request.timeout.count, 1), 86_400_000)),
        maximumResponseBytes: max(request.maximumResponseBytes, 0), isDecoded: isDecoded, memory: request.memory,
        isForLimitedCaller: request.isForLimitedCaller,
        reuse: request.beforeSending == nil && !readsServerKey ? request.reuse : nil, readsServerKey: readsServerKey))
  }
}

extension TransferRequest.Refusal {
  fileprivate var outcome: HTTPOutcome {
    switch self {
    case .invalidURL: .notConnected(.invalidURL)
    case .invalid: .notConnected(.other)
    case .pinMismatch: .untrusted(.pinMismatch)
    }
  }
}

extension HTTPField {
  fileprivate var transferValue: TransferFieldValue {
    switch value {
    case .text(let text): .text(text)
    case .secret(let secret): .secret(secret)
    }
  }
}

extension Secret: TransferMemory {
  package static func filled(count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) -> Secret {
    Secret(
      SecretBytes(capacity: count) { bytes in
        write(bytes)
        return count
      })
  }
}
