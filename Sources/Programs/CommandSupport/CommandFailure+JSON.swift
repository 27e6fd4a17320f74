internal import JSONRPC

extension CommandFailure {
  /// The failure in the form of an error of the contract, without `code`: the agent did not send it.
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

  /// The entry of a failed account in the list that `lanyard logout --all --json` prints.
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
