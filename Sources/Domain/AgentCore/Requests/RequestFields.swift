internal import AgentModel

/// The header fields of a request as its caller gave them, checked. The agent adds `Authorization` and
/// `Idempotency-Key`.
public struct RequestFields: Sendable {
  /// In the caller's order and spelling; the key of the request is the last one.
  public private(set) var all: [(name: String, value: String)]
  private var hasKey = false

  /// A parameter that is refused: its JSON Pointer in the params, and what it must be.
  public struct Refusal: Error, Hashable, Sendable {
    public var path: String
    public var expected: String
  }

  /// - Parameter idempotencyKey: the value of the `Idempotency-Key` field, sent as it is: neither quoted nor unquoted.
  public init(_ fields: [(name: String, value: String)], idempotencyKey: String? = nil) throws(Refusal) {
    var names: Set<String> = []
    for (name, value) in fields {
      guard FieldSyntax.isToken(name) else {
        throw Refusal(path: Self.pointer(name), expected: Self.expectedName)
      }
      guard NameSpelling(name).text != "idempotencykey" else {
        throw Refusal(path: Self.pointer(name), expected: "the parameter idempotencyKey instead")
      }
      guard names.insert(name.lowercased()).inserted else {
        throw Refusal(path: Self.pointer(name), expected: "a name that no other field has, without regard to case")
      }
      guard value.utf8.allSatisfy(FieldSyntax.isValue) else {
        throw Refusal(path: Self.pointer(name), expected: "a value without line ends and other control characters")
      }
      // No provider's `allowedFields` allow it.
      guard RequestNames().field(name) != .reserved else {
        throw Refusal(path: Self.pointer(name), expected: Self.expectedName)
      }
    }
    all = fields
    if let idempotencyKey { try setKey(idempotencyKey) }
  }

  /// Without the key of the request.
  public var own: [(name: String, value: String)] { hasKey ? all.dropLast() : all }

  /// The same with this key in place of another.
  public func keyed(_ idempotencyKey: String) throws(Refusal) -> RequestFields {
    var keyed = self
    try keyed.setKey(idempotencyKey)
    return keyed
  }

  private mutating func setKey(_ key: String) throws(Refusal) {
    guard Self.isKey(key) else {
      throw Refusal(path: "/idempotencyKey", expected: "printable ASCII without a space at either end")
    }
    if hasKey { all.removeLast() }
    all.append(("Idempotency-Key", key))
    hasKey = true
  }

  /// - Parameter isOfLimitedCaller: the caller presented a grant, and may set plain fields alone.
  /// - Throws: the refusal of a field by which servers take another credential, person, method or path.
  public func check(by names: RequestNames, isOfLimitedCaller: Bool) throws(Refusal) {
    for (name, _) in all {
      switch names.field(name) {
      case .plain, .hiding: continue
      case .unknown where !isOfLimitedCaller: continue
      case .unknown:
        throw Refusal(path: Self.pointer(name), expected: "a plain field, or one of the provider's allowedFields")
      case .reserved: throw Refusal(path: Self.pointer(name), expected: Self.expectedName)
      case .telling(let meaning):
        throw Refusal(
          path: Self.pointer(name),
          expected: "a field that names no \(meaning.rawValue), unless the provider's allowedFields allow it")
      }
    }
  }

  /// The fields that leave. One that asks for a part or another coding of the answer does not, for a caller whose answers
  /// are searched for tokens: whole, and decoded by the agent.
  public func outgoing(by names: RequestNames, isSearched: Bool) -> [(name: String, value: String)] {
    isSearched ? all.filter { names.field($0.name) != .hiding } : all
  }

  /// - Throws: the refusal of a form that names another credential, person, method or path.
  public func check(form body: UnsafeRawBufferPointer, by names: RequestNames) throws(FormNames.Refusal) {
    guard !body.isEmpty else { return }
    var form = try FormNames(all, under: names)
    try form?.takeAll(body)
  }

  private static let expectedName = "a header field that a caller may set"

  private static func isKey(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.utf8.first != 0x20
      && text.utf8.last != 0x20
  }

  /// RFC 6901 §3.
  private static func pointer(_ name: String) -> String {
    var pointer = "/headers/"
    for character in name.unicodeScalars {
      switch character {
      case "~": pointer += "~0"
      case "/": pointer += "~1"
      default: pointer.unicodeScalars.append(character)
      }
    }
    return pointer
  }
}
