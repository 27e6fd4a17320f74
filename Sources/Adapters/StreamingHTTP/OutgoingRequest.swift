public import AgentModel
internal import CurlTransfers

/// A field of a request's head.
public struct RequestField: Sendable {
  /// A credential is a `.secret`.
  public enum Value: Sendable { case text(String), secret(WipedBytes) }
  public var name: String
  public var value: Value

  public init(_ name: String, _ value: String) { (self.name, self.value) = (name, .text(value)) }
  public init(_ name: String, secret: WipedBytes) { (self.name, self.value) = (name, .secret(secret)) }
}

/// A request that `HTTPClient.perform` sends once.
public struct OutgoingRequest: Sendable {
  public var method: String
  /// `https`, or `http` on loopback: a request to any other URL is not sent.
  public var url: HTTPURL
  /// The path and the query as they leave, with a credential in them; nil: those of `url`.
  public var target: WipedBytes?
  /// `HTTPClient` decides the fields about the connection (RFC 9110 §7.6.1), `Host` and `Content-Length`, and leaves
  /// them out here.
  public var fields: [RequestField]
  /// How its server is reached and trusted; nil: as the settings of the client say.
  public var trust: TrustSettings?
  /// For name, connection and TLS together.
  public var connectMilliseconds = 10_000
  /// From the connection to the end of the response's head; nil: without limit. A request that still sends its body
  /// has more time.
  public var headMilliseconds: Int? = nil
  /// Between two pieces of the body of the response; nil: without limit, as for a stream of events.
  public var idleMilliseconds: Int? = nil
  /// For the whole request, however slowly its response comes; nil: without limit.
  public var totalMilliseconds: Int? = nil

  public init(_ method: String, _ url: HTTPURL, fields: [RequestField] = []) {
    self.method = method
    self.url = url
    self.fields = fields
  }
}

/// The body of a request.
public enum RequestBody {
  case none
  case bytes(WipedBytes)
  case stream(BodyStream)
}

/// A body that comes in pieces while it is sent.
public struct BodyStream {
  /// What a reading gave.
  public enum Piece: Sendable {
    /// So many bytes, more than 0, were put into the buffer.
    case bytes(Int)
    case end
    /// Nothing now: `read` is called again once `descriptor` is readable.
    case later
    /// The rest does not come: the request is broken off.
    case failed
  }

  /// Number of bytes; nil if it is not known before (HTTP/1.1: `Transfer-Encoding: chunked`).
  public var length: Int?
  /// Readable when `read` may have more; -1 if `read` waits itself.
  public var descriptor: Int32
  /// Called on the thread of `perform`. Puts bytes into the buffer.
  public var read: (UnsafeMutableRawBufferPointer) -> Piece

  public init(length: Int?, descriptor: Int32, read: @escaping (UnsafeMutableRawBufferPointer) -> Piece) {
    self.length = length
    self.descriptor = descriptor
    self.read = read
  }
}

extension RequestField {
  var transferValue: TransferFieldValue {
    switch value {
    case .text(let text): .text(text)
    case .secret(let bytes): .secret(bytes)
    }
  }
}

extension RequestBody {
  var transferBody: TransferRequest.Body {
    switch self {
    case .none: .none
    case .bytes(let bytes): .bytes(bytes)
    case .stream(let stream): .stream(length: stream.length)
    }
  }
}
