internal import AgentCore
package import AgentModel
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// What a client enqueues, checked.
package struct EnqueuedOperation: Sendable {
  package var capability: String
  package var content: OperationContent
  package var label: String?
  package var idempotencyKey: String?
  package var retryWithin: Milliseconds?
  /// By the wall clock.
  package var expiresAt: Timestamp?
  package var key: TokenKey
  package var scopeLimit: Set<String>?

  package init(
    capability: String, content: OperationContent, label: String?, idempotencyKey: String?,
    retryWithin: Milliseconds?, expiresAt: Timestamp?, key: TokenKey, scopeLimit: Set<String>?
  ) {
    self.capability = capability
    self.content = content
    self.label = label
    self.idempotencyKey = idempotencyKey
    self.retryWithin = retryWithin
    self.expiresAt = expiresAt
    self.key = key
    self.scopeLimit = scopeLimit
  }

  /// Of all that makes it another operation.
  var digest: [UInt8] {
    let whole = SecretJSON.write { writer in
      writer.member("capability", capability)
      writer.member("label", label)
      writer.member("retryWithin", retryWithin?.count)
      writer.member("expiresAt", expiresAt?.milliseconds)
      content.write(to: &writer)
    }
    return whole.withBytes { sha256($0) }
  }
}

/// What an operation delivers: the request that the agent sends, and the client's own payload.
package struct OperationContent: Sendable {
  package struct Request: Sendable {
    package var method: String
    package var url: String
    package var headers: [(name: String, value: String)]
    package var body: String?
    package var bodyBase64: String?

    package init(
      method: String, url: String, headers: [(name: String, value: String)], body: String?, bodyBase64: String?
    ) {
      self.method = method
      self.url = url
      self.headers = headers
      self.body = body
      self.bodyBase64 = bodyBase64
    }

    var isRead: Bool { RequestMachine.isRead(method) }
  }

  package var request: Request?
  /// JSON.
  package var payload: [UInt8]?

  package init(request: Request?, payload: [UInt8]?) {
    self.request = request
    self.payload = payload
  }

  var record: Secret { SecretJSON.write { write(to: &$0) } }

  func write(to writer: inout JSONWriter) {
    if let request {
      writer.member("method", request.method)
      writer.member("url", request.url)
      writer.key("headers")
      writer.beginArray()
      for (name, value) in request.headers {
        writer.string(name)
        writer.string(value)
      }
      writer.endArray()
      writer.member("body", request.body)
      writer.member("bodyBase64", request.bodyBase64)
    }
    if let payload {
      writer.key("payload")
      payload.withUnsafeBytes { writer.raw($0) }
    }
  }

  init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> OperationContent? in
      var content = OperationContent(request: nil, payload: node["payload"].map { [UInt8]($0.raw) })
      if let method = node["method"]?.string, let url = node["url"]?.string {
        let texts = node["headers"]?.strings ?? []
        guard texts.count % 2 == 0 else { return nil }
        let headers = stride(from: 0, to: texts.count, by: 2).map { (name: texts[$0], value: texts[$0 + 1]) }
        content.request = Request(
          method: method, url: url, headers: headers, body: node["body"]?.string,
          bodyBase64: node["bodyBase64"]?.string)
      }
      return content
    }
    guard let read else { return nil }
    self = read
  }
}

/// The answer of a resource server, as it is kept with an operation.
package struct OperationAnswer: Sendable {
  /// The bound of the contract.
  static let mostBytes = 64 << 10

  package var status: Int
  package var body: [UInt8]
  package var isTruncated: Bool

  init(_ response: ResourceResponse) {
    status = response.status
    body = response.body.withBytes { [UInt8]($0.prefix(Self.mostBytes)) }
    isTruncated = response.body.count > Self.mostBytes
    if isTruncated { endAtCharacter() }
  }

  /// A text that is cut stays a text.
  private mutating func endAtCharacter() {
    guard String(validating: body, as: UTF8.self) == nil else { return }
    let whole = (1...3).first { String(validating: body.dropLast($0), as: UTF8.self) != nil }
    if let whole { body.removeLast(whole) }
  }

  /// The answer in a record of up to this many bytes: its body is cut if it must be, its status never.
  func fitting(_ bytes: Int) -> OperationAnswer {
    // Base64URL writes three bytes as four characters.
    let room = max(0, (bytes - Self.mostHeaderBytes) / 4 * 3)
    guard body.count > room else { return self }
    var cut = self
    cut.isTruncated = true
    cut.body.removeLast(body.count - room)
    cut.endAtCharacter()
    return cut
  }

  /// The names of the record's members, the status and the sign that the body is cut.
  private static let mostHeaderBytes = 64

  var record: Secret {
    SecretJSON.write { writer in
      writer.member("status", Int64(status))
      writer.member("body", Base64URL.encode(body))
      if isTruncated { writer.member("truncated", 1) }
    }
  }

  init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> (Int, [UInt8], Bool)? in
      guard let status = node["status"]?.integer, let body = node["body"]?.string.flatMap({ Base64URL.decode($0) })
      else { return nil }
      return (Int(status), body, node["truncated"] != nil)
    }
    guard let read else { return nil }
    (status, body, isTruncated) = read
  }
}
