internal import JSONRPC
internal import MCPBridge
internal import StreamingHTTP
internal import Synchronization

/// Lists the tools for the bridge itself, after the server refused the header fields of a call.
struct ToolRefresh {
  let bridge: Bridge
  let call: Call

  /// A list has some pages at most.
  private static let maximumPages = 16

  /// True if the list was read.
  func run() -> Bool {
    var cursor: [UInt8]?
    for page in 0..<Self.maximumPages {
      guard let response = response(cursor, page) else { return page > 0 }
      var tape = JSONTape()
      response.withUnsafeBytes { bytes in
        _ = bridge.state.withLock { $0.tools.take(bytes, isFirstPage: page == 0, &tape) }
        cursor = tape.withRoot(of: bytes) { $0["result"]?["nextCursor"].map { [UInt8]($0.raw) } }
      }
      guard cursor != nil, cursor.map({ !$0.elementsEqual("null".utf8) }) == true else { return true }
    }
    return true
  }

  private func response(_ cursor: [UInt8]?, _ page: Int) -> [UInt8]? {
    let version = call.message.version ?? ""
    let body = WipedBytes()
    var meta: [UInt8] = []
    var tape = JSONTape()
    call.body.withBytes { bytes in
      guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return }
      meta = tape.withRoot(of: bytes) { $0["params"]?["_meta"].map { [UInt8]($0.raw) } ?? [] }
    }
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("jsonrpc", "2.0")
    writer.member("id", "lanyard-tools-\(page)")
    writer.member("method", "tools/list")
    writer.key("params")
    writer.beginObject()
    writer.key("_meta")
    meta.withUnsafeBytes { writer.raw($0) }
    if let cursor {
      writer.key("cursor")
      cursor.withUnsafeBytes { writer.raw($0) }
    }
    writer.endObject()
    writer.endObject()
    writer.withBytes { body.append($0) }
    guard let message = body.withBytes({ try? ClientMessage($0, &tape) }) else { return nil }
    let fields =
      [("Accept", RequestHeaders.accept), ("Content-Type", "application/json")]
      + RequestHeaders.modern(message, version: version, parameters: [])
    var found: [UInt8]?
    let outgoing = Outgoing(
      method: "POST", fields: fields, body: body, cancellation: call.cancellation, isForPerson: false)
    let sent = bridge.sender.send(outgoing) { event, _ in
      let isResponse = event.withUnsafeBytes { bytes in
        if case .response? = ServerMessage(bytes, &tape)?.kind { true } else { false }
      }
      if isResponse { found = event }
      return !isResponse
    }
    if case .replied(let reply, .complete) = sent, reply.form == .message, reply.isSuccess {
      found = reply.body.withBytes { [UInt8]($0) }
    }
    return found
  }
}
