internal import JSONRPC

extension CommandFailure {
  /// `{"error": {…}}`, as every command with `--json` prints it on stderr (docs/protocol.md, Programs).
  public var json: String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("error")
    write(to: &writer)
    writer.endObject()
    return writer.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// `name`, `message` and `exit`; behind them `code` and `data` of an error that the agent sent, else the `hints`. A raw
  /// failure has the agent's own message.
  private func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("name", name)
    writer.member("message", isRaw ? wireMessage ?? message : message)
    writer.key("exit")
    writer.integer(Int(status.rawValue))
    if wire == nil, !hints.isEmpty { writer.member("hints", hints) }
    wireError { error in
      for (key, member) in [("code", error["code"]), ("data", error["data"])] {
        guard let member else { continue }
        writer.key(key)
        writer.raw(member.raw)
      }
    }
    writer.endObject()
  }

  private var wireMessage: String? { wireError { $0["message"]?.string } }

  /// The entry of a failed account in the list that `lanyard logout --all --json` prints.
  public func entry(account: String) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("account")
    writer.string(account)
    writer.key("error")
    write(to: &writer)
    writer.endObject()
    return writer.withBytes { String(decoding: $0, as: UTF8.self) }
  }
}
