internal import JSONRPC

extension CommandFailure {
  /// The failure in the shape of the wire's errors, without a code: it never was on the wire.
  var json: String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("message")
    writer.string(message)
    writer.key("data")
    writer.beginObject()
    writer.key("name")
    writer.string(name)
    writer.key("retryable")
    writer.bool(false)
    writer.key("exitCode")
    writer.integer(Int(status.rawValue))
    writer.endObject()
    writer.endObject()
    return writer.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// In a list of outcomes, the one of an account that failed.
  public func entry(account: String) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("account")
    writer.string(account)
    writer.key("error")
    var error = wire ?? json
    error.withUTF8 { writer.raw(UnsafeRawBufferPointer($0)) }
    writer.endObject()
    return writer.withBytes { String(decoding: $0, as: UTF8.self) }
  }
}
