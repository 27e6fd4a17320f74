/// The envelope of a request (JSON-RPC 2.0 §4), as views into its line.
public enum Envelope {
  /// A nil `id` means a notification, which gets no response. `id` is the bytes as received, for an exact echo.
  case request(id: UnsafeRawBufferPointer?, method: JSONNode, params: JSONNode?)
  /// An invalid request: answered with -32600, and with the id if it is valid.
  case invalid(id: UnsafeRawBufferPointer?)

  /// Reads the envelope of a scanned value.
  public init(_ node: JSONNode) {
    guard node.kind == .object else {
      self = .invalid(id: nil)
      return
    }
    var version: JSONNode?
    var id: JSONNode?
    var method: JSONNode?
    var params: JSONNode?
    var ids = 0
    for (key, value) in node.members {
      if key.isText("jsonrpc") {
        version = value
      } else if key.isText("id") {
        id = value
        ids += 1
      } else if key.isText("method") {
        method = value
      } else if key.isText("params") {
        params = value
      }
    }
    var valid: UnsafeRawBufferPointer?
    if ids == 1, let id {
      switch id.kind {
      case .string, .number, .null: valid = id.raw
      default: break
      }
    }
    let idIsWrong = id != nil && valid == nil
    let paramsAreWrong = params.map { $0.kind != .object && $0.kind != .array } ?? false
    guard !idIsWrong, !paramsAreWrong, version?.isText("2.0") == true, let method, method.kind == .string,
      !node.hasDuplicateKeys
    else {
      self = .invalid(id: valid)
      return
    }
    self = .request(id: valid, method: method, params: params)
  }

  /// The `method` in the beginning of a line, so that an over-long line is refused before its end; nil if it may still
  /// follow. What stands behind the method may be malformed.
  ///
  /// - Throws: if no method was read and no continuation of these bytes is a request or a batch.
  public static func method(ofPrefix bytes: UnsafeRawBufferPointer) throws(JSONScanner.Failure) -> String? {
    var tape = JSONTape()
    // What is no JSON has no method, and neither has a whole request without one.
    var failure = JSONScanner.Failure.malformed
    do throws(JSONScanner.Failure) {
      try JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)
      if tape.entries.first?.kind == .array { return nil }
    } catch {
      // The tape holds the values that were complete.
      failure = error
    }
    if let method = tape.topLevelString("method", in: bytes) { return method }
    switch tape.entries.first?.kind {
    case .object? where failure == .incomplete, .array? where failure == .incomplete: return nil
    default: throw failure
    }
  }
}

extension JSONTape {
  /// The text of a member of the outermost object, which may be incomplete.
  fileprivate func topLevelString(_ name: StaticString, in bytes: UnsafeRawBufferPointer) -> String? {
    guard entries.first?.kind == .object, let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
      return nil
    }
    return entries.withUnsafeBufferPointer { buffer in
      var index = 1
      while index + 1 < buffer.count {
        let key = JSONNode(bytes: base, entries: buffer.baseAddress!, index: index)
        let value = JSONNode(bytes: base, entries: buffer.baseAddress!, index: index + 1)
        if key.isText(name) { return value.string }
        // `next` of an incomplete container points right behind its own entry, so its content follows.
        let next = Int(buffer[index + 1].next)
        if (value.kind == .object || value.kind == .array) && buffer[index + 1].end == buffer[index + 1].start {
          return nil
        }
        index = next
      }
      return nil
    }
  }
}
