public import JSONRPC

/// Rights in detail that a sign-in asks for, or that a provider granted (RFC 9396 §2): a JSON array of objects, each
/// with a `type`. The other members of an object depend on its type; the agent passes them through.
public struct AuthorizationDetails: Hashable, Sendable {
  /// Bytes of JSON in a request. In percent-encoding three times as many stand in the address of the sign-in page, which
  /// has at most 16,384.
  public static let mostRequestedBytes = 4096
  /// Bytes of JSON in an answer: the provider may enrich what it grants (RFC 9396 §7.1).
  public static let mostGrantedBytes = 16_384
  public static let mostObjects = 64
  /// The levels of arrays and objects, with the array itself. A result of the agent stands around it, and a line of the
  /// protocol has at most 64.
  public static let deepestNesting = 16
  public static let longestType = 256

  /// The array on one line, without spaces between its tokens.
  public let text: String
  /// The `type` of each object, in order.
  public let types: [String]

  public var isEmpty: Bool { types.isEmpty }

  public enum Problem: Error, Hashable, Sendable {
    /// Not a JSON array, or a name occurs twice in an object.
    case malformed
    /// An element is not an object with a `type`.
    case withoutType(index: Int)
    case tooMany
    case tooDeep
    case tooLong
  }

  /// Reads an array of at most `bytes` bytes, not counting spaces between its tokens.
  public init(_ node: JSONNode, atMost bytes: Int) throws(Problem) {
    guard node.kind == .array, !node.hasDuplicateKeys else { throw .malformed }
    var types: [String] = []
    for (index, element) in node.elements.enumerated() {
      guard index < Self.mostObjects else { throw .tooMany }
      guard element.kind == .object, let type = element["type"]?.string,
        (1...Self.longestType).contains(type.utf8.count)
      else { throw .withoutType(index: index) }
      types.append(type)
    }
    guard node.nesting <= Self.deepestNesting else { throw .tooDeep }
    var writer = JSONWriter()
    writer.compact(node)
    let text = writer.withBytes { String(decoding: $0, as: UTF8.self) }
    guard text.utf8.count <= bytes else { throw .tooLong }
    (self.text, self.types) = (text, types)
  }

  /// Reads JSON text.
  public init(parsing text: String, atMost bytes: Int) throws(Problem) {
    let bytesOfText = Array(text.utf8)
    let read: Result<AuthorizationDetails, Problem> = bytesOfText.withUnsafeBytes { buffer in
      var tape = JSONTape()
      guard (try? JSONScanner.scan(buffer, onto: &tape)) != nil else { return .failure(.malformed) }
      return tape.withRoot(of: buffer) { node in
        do throws(Problem) { return .success(try AuthorizationDetails(node, atMost: bytes)) } catch {
          return .failure(error)
        }
      }
    }
    self = try read.get()
  }

  /// Reads what a provider granted, or what the agent stored of it. Nil if it is absent or can't be read.
  public init?(granted node: JSONNode?) {
    guard let node else { return nil }
    do throws(Problem) { try self.init(node, atMost: Self.mostGrantedBytes) } catch { return nil }
  }

  /// The index of the first object whose type is not among `supported`; nil if all are.
  public func firstUnsupported(by supported: [String]) -> Int? { types.firstIndex { !supported.contains($0) } }

  /// Writes the array as a member.
  public func write(to writer: inout JSONWriter, as name: StaticString) {
    writer.key(name)
    Array(text.utf8).withUnsafeBytes { writer.raw($0) }
  }

  /// Lends the JSON text of each object, in order.
  public func forEachObject(_ body: (JSONNode) -> Void) {
    Array(text.utf8).withUnsafeBytes { buffer in
      var tape = JSONTape()
      guard (try? JSONScanner.scan(buffer, onto: &tape)) != nil else { return }
      tape.withRoot(of: buffer) { for element in $0.elements { body(element) } }
    }
  }
}

extension JSONNode {
  /// The levels of arrays and objects in this value, with itself.
  fileprivate var nesting: Int {
    switch kind {
    case .array: 1 + (elements.map(\.nesting).max() ?? 0)
    case .object: 1 + (members.map(\.value.nesting).max() ?? 0)
    default: 0
    }
  }
}

extension JSONWriter {
  /// Writes a value without the spaces between its tokens. Names are escaped anew; scalars stay as they were written.
  fileprivate mutating func compact(_ node: JSONNode) {
    switch node.kind {
    case .array:
      beginArray()
      for element in node.elements { compact(element) }
      endArray()
    case .object:
      beginObject()
      for (name, value) in node.members {
        key(name.string ?? "")
        compact(value)
      }
      endObject()
    default: raw(node.raw)
    }
  }
}
