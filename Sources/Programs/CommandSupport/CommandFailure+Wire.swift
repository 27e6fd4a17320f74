public import JSONRPC

extension CommandFailure {
  /// Reads the error object as the agent sent it; nil if the failure is this program's own.
  @discardableResult
  public func wireError<Result>(_ body: (JSONNode) -> Result?) -> Result? {
    guard var wire else { return nil }
    return wire.withUTF8 { bytes in
      var tape = JSONTape()
      let bytes = UnsafeRawBufferPointer(bytes)
      guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return nil }
      return tape.withRoot(of: bytes) { body($0) }
    }
  }

  /// Why a decision of the policy is no: `data.reason`, else that of the decision in it.
  public var denialReason: String? {
    reason ?? wireError { $0["data"]?["decision"]?["reason"]?.string }
  }
}
