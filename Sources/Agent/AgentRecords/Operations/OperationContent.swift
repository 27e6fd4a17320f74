package import AgentCore
package import AgentModel
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// What a client enqueues, checked.
package struct EnqueuedOperation: Sendable {
  package var capability: String
  package var content: OperationContent
  var label: String?
  var idempotencyKey: String?
  var retryWithin: Milliseconds?
  /// By the wall clock.
  var expiresAt: Timestamp?
  var key: TokenKey
  package var limit: TokenLimit
  var caller: OperationCaller
  /// For whom its request is decided about.
  package var requester: RequestCaller
  /// The capabilities for which a person approved its request.
  package var approved: Set<String> = []

  package init(
    capability: String, content: OperationContent, label: String?, idempotencyKey: String?,
    retryWithin: Milliseconds?, expiresAt: Timestamp?, key: TokenKey, limit: TokenLimit,
    caller: OperationCaller, requester: RequestCaller = .owner
  ) {
    self.capability = capability
    self.content = content
    self.label = label
    self.idempotencyKey = idempotencyKey
    self.retryWithin = retryWithin
    self.expiresAt = expiresAt
    self.key = key
    self.limit = limit
    self.caller = caller
    self.requester = requester
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
    /// With the client's key, if it was enqueued just now.
    package var fields: RequestFields
    package var body: Secret?
    /// The client gave the body as text, and not in Base64.
    package var isText: Bool

    package init(method: String, url: String, fields: RequestFields, body: Secret?, isText: Bool) {
      self.method = method
      self.url = url
      self.fields = fields
      self.body = body
      self.isText = isText
    }

    var isRead: Bool { RequestMachine.isRead(method) }

    package var hasBody: Bool { body.map { $0.count > 0 } ?? false }
  }

  package var request: Request?
  /// JSON.
  package var payload: Secret?

  package init(request: Request?, payload: Secret?) {
    self.request = request
    self.payload = payload
  }

  package var record: Secret { SecretJSON.write { write(to: &$0) } }

  func write(to writer: inout JSONWriter) {
    if let request {
      writer.member("method", request.method)
      writer.member("url", request.url)
      writer.key("headers")
      writer.beginArray()
      for (name, value) in request.fields.own {
        writer.string(name)
        writer.string(value)
      }
      writer.endArray()
      writer.member(request.isText ? "body" : "bytes", request.isText ? request.body : request.body?.base64URL)
    }
    if let payload {
      writer.key("payload")
      payload.withBytes { writer.raw($0) }
    }
  }

  package init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> OperationContent? in
      var content = OperationContent(request: nil, payload: node["payload"].map { Secret(copying: $0.raw) })
      if let method = node["method"]?.string, let url = node["url"]?.string {
        let texts = node["headers"]?.strings ?? []
        guard texts.count % 2 == 0 else { return nil }
        let headers = stride(from: 0, to: texts.count, by: 2).map { (name: texts[$0], value: texts[$0 + 1]) }
        let bytes = node["bytes"]?.secret?.base64URLDecoded
        guard bytes != nil || node["bytes"] == nil, let fields = try? RequestFields(headers) else { return nil }
        content.request = Request(
          method: method, url: url, fields: fields, body: node["body"]?.secret ?? bytes, isText: bytes == nil)
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
  package static let mostBytes = 64 << 10

  package var status: Int
  package var body: Secret
  package var isTruncated = false

  /// Of a server that refused the token; what else it said is not known any more.
  package static let refusedToken = OperationAnswer(status: 401)

  private init(status: Int) { (self.status, body) = (status, Secret(text: "")) }

  package init(_ response: ResourceResponse) {
    (status, body) = (response.status, response.body)
    // It is not left at rest, and a caller that reads the operation may not have it.
    cut(to: response.repeatsToken ? 0 : Self.mostBytes)
  }

  /// A text that is cut stays a text.
  private mutating func cut(to count: Int) {
    guard body.count > count else { return }
    isTruncated = true
    body = body.withBytes { bytes in
      // The first byte that is left out must not be a later byte of a character (RFC 3629 §3); no character has five.
      var end = count
      while end > max(0, count - 3), bytes[end] & 0xC0 == 0x80 { end -= 1 }
      return Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[..<end]))
    }
  }

  /// The answer in a record of up to this many bytes: its body is cut if it must be, its status never.
  package func fitting(_ bytes: Int) -> OperationAnswer {
    // Base64URL writes three bytes as four characters.
    let room = max(0, (bytes - Self.mostHeaderBytes) / 4 * 3)
    var fitting = self
    fitting.cut(to: room)
    return fitting
  }

  /// The names of the record's members, the status and the sign that the body is cut.
  private static let mostHeaderBytes = 64

  package var record: Secret {
    SecretJSON.write { writer in
      writer.member("status", Int64(status))
      writer.member("body", body.base64URL)
      if isTruncated { writer.member("truncated", 1) }
    }
  }

  package init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> (Int, Secret, Bool)? in
      guard let status = node["status"]?.integer, let body = node["body"]?.secret?.base64URLDecoded else { return nil }
      return (Int(status), body, node["truncated"] != nil)
    }
    guard let read else { return nil }
    (status, body, isTruncated) = read
  }
}

extension Secret {
  /// The bytes as text, without a copy outside of guarded memory.
  fileprivate var base64URL: Secret {
    Secret(SecretBytes(capacity: (count + 2) / 3 * 4) { target in withBytes { Base64URL.encode($0, into: target) } })
  }

  /// Nil if this is no Base64URL.
  fileprivate var base64URLDecoded: Secret? {
    var isSound = true
    let decoded = SecretBytes(capacity: count) { target in
      let length = withBytes { Base64URL.decode($0, into: target) }
      isSound = length != nil
      return length ?? 0
    }
    return isSound ? Secret(decoded) : nil
  }
}
