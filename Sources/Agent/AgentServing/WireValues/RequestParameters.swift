internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import AgentStore
internal import Secrets

/// The parameters of a request to a resource server, checked: those of `request.send`, and those of an operation.
struct RequestParameters {
  var method: String
  var headers: WireMap<String>?
  var body: String?
  var bodyBase64: String?
  var idempotencyKey: String?
  /// Where the request stands in the params, as a JSON Pointer.
  var path = ""

  /// In the caller's order, without the key.
  var headerList: [(name: String, value: String)] { headers?.entries.map { ($0.name, $0.value) } ?? [] }

  /// Throws if a field or the key may not be sent.
  func fields() throws(AgentFailure) -> RequestFields {
    do throws(RequestFields.Refusal) {
      return try RequestFields(headerList, idempotencyKey: idempotencyKey)
    } catch {
      throw .invalidParameter((error.path == "/idempotencyKey" ? "" : path) + error.path, expected: error.expected)
    }
  }

  /// Nil for an empty body.
  func content() throws(AgentFailure) -> Secret? {
    guard RequestMachine.canSend(method) else {
      throw .invalidParameter(path + "/method", expected: RequestMachine.expectedMethod)
    }
    let content: Secret?
    if let text = bodyBase64 {
      guard let bytes = Base64.decode(text) else {
        throw .invalidParameter(path + "/bodyBase64", expected: "padded Base64 (RFC 4648 §4)")
      }
      content = bytes.withUnsafeBytes { Secret(copying: $0) }
    } else {
      content = body.map { Secret(text: $0) }
    }
    guard let content, content.count > 0 else { return nil }
    guard method != "HEAD" else {
      throw .invalidParameter(path + (body == nil ? "/bodyBase64" : "/body"), expected: "no body with the method HEAD")
    }
    return content
  }
}
