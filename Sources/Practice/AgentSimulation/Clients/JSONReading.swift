internal import JSONRPC
public import PracticeProvider

extension PracticeJSON {
  /// Reads a line with the agent's own scanner; nil if it is not JSON.
  public init?(line: [UInt8]) {
    var tape = JSONTape()
    let value = line.withUnsafeBytes { bytes -> PracticeJSON? in
      guard !bytes.isEmpty, (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return nil }
      return tape.withRoot(of: bytes) { PracticeJSON($0) }
    }
    guard let value else { return nil }
    self = value
  }

  fileprivate init(_ node: JSONNode) {
    switch node.kind {
    case .object: self = .object(node.members.map { Member($0.key.string ?? "", PracticeJSON($0.value)) })
    case .array: self = .array(node.elements.map { PracticeJSON($0) })
    case .string: self = .string(node.string ?? "")
    case .number: self = node.integer.map { .integer($0) } ?? .number(node.double ?? 0)
    case .true: self = .bool(true)
    case .false: self = .bool(false)
    case .null: self = .null
    }
  }

  /// Follows member names downward: `answer.json["error", "data", "reason"]`.
  public subscript(path: String...) -> PracticeJSON? {
    path.reduce(Optional(self)) { value, name in value?[name] }
  }
}

/// The answer to a request.
public struct SimulatedAnswer: Sendable {
  /// The line as received; nil if the connection ended first.
  public var line: String?
  public var json: PracticeJSON

  init(line: [UInt8]?) {
    self.line = line.map { String(decoding: $0, as: UTF8.self) }
    json = line.flatMap { PracticeJSON(line: $0) } ?? .null
  }

  /// No answer: the process had ended before the request.
  public static let lost = SimulatedAnswer(line: nil)
  public var isLost: Bool { line == nil }
  public var result: PracticeJSON? { json["result"] }
  public var error: PracticeJSON? { json["error"] }
  /// The error's code; nil for a result.
  public var code: Int? { json["error", "code"]?.integerValue.map(Int.init) }
  public var reason: String? { json["error", "data", "reason"]?.stringValue }
  public var retryAfterMs: Int64? { json["error", "data", "retryAfterMs"]?.integerValue }
  /// A text member of the result.
  public subscript(name: String) -> String? { json["result"]?[name]?.stringValue }
}

extension SimulatedAnswer: CustomStringConvertible {
  public var description: String { line ?? "(the connection ended)" }
}
