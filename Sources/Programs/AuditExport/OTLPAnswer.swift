public import AgentModel
internal import JSONRPC

/// What a receiver's answer means for a batch (the specification of OTLP/HTTP, "OTLP/HTTP Response").
public enum OTLPAnswer: Hashable, Sendable {
  /// It has the batch. It refused `rejected` of its records for good, for the reason `message`.
  case taken(rejected: Int64, message: String?)
  /// It may take the batch later; nil: the receiver names no time.
  case later(status: Int, after: Milliseconds?)
  /// It can't read this batch, or it is too large: a smaller one may do.
  case refused(status: Int)
  /// The address, the credential or the receiver is wrong. Nothing is dropped for that.
  case misdirected(status: Int)

  /// The specification drops what gets another status than these. An audit entry is not dropped: the receiver may be set up
  /// wrong.
  private static let retryable: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
  private static let refusing: Set<Int> = [400, 413, 415, 422]
  /// A receiver can't silence the export for longer.
  static let longestWait = Milliseconds.seconds(3600)

  /// - Parameters:
  ///   - retryAfter: the field of the answer.
  ///   - body: the first part of the answer's body.
  public init(status: Int, retryAfter: String?, body: [UInt8], now: Timestamp) {
    switch status {
    case 200..<300:
      let partial = Self.partialSuccess(body)
      self = .taken(rejected: max(0, partial?.rejected ?? 0), message: partial?.message)
    case _ where Self.retryable.contains(status):
      self = .later(status: status, after: retryAfter.flatMap { Self.wait($0, now: now) })
    case _ where Self.refusing.contains(status): self = .refused(status: status)
    default: self = .misdirected(status: status)
    }
  }

  /// RFC 9110 §10.2.3: seconds, or a date.
  private static func wait(_ text: String, now: Timestamp) -> Milliseconds? {
    let wait =
      Int64(text).map { Milliseconds.seconds(min(max($0, 0), longestWait.wholeSeconds)) }
      ?? Timestamp(httpDate: text, now: now).map { $0 - now }
    return wait.map { min(max($0, .zero), longestWait) }
  }

  private static func partialSuccess(_ body: [UInt8]) -> (rejected: Int64, message: String?)? {
    body.withUnsafeBytes { bytes in
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else { return nil }
      return tape.withRoot(of: bytes) { root in
        guard root.kind == .object, let partial = root["partialSuccess"], partial.kind == .object else { return nil }
        // In JSON a 64-bit number is a string; receivers write numbers, too.
        let rejected = partial["rejectedLogRecords"].flatMap { $0.integer ?? $0.string.flatMap { Int64($0) } }
        return (rejected ?? 0, partial["errorMessage"]?.string.map { String($0.prefix(200)) })
      }
    }
  }
}
