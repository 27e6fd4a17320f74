internal import JSONRPC

/// A problem of a policy document: its place (JSON Pointer, RFC 6901) and a text for the author.
public struct PolicyProblem: Hashable, Sendable {
  public var pointer: String
  public var text: String

  public init(pointer: String, text: String) {
    self.pointer = pointer
    self.text = text
  }
}

/// The problems of a document, in document order.
public struct PolicyProblems: Error, Hashable, Sendable {
  /// Upper bound for the listed problems; later ones are counted in `more`.
  static let maximumListed = 100
  /// Upper bound for the length of a pointer in bytes: member names may be as long as the document.
  static let longestPointer = 1024

  public private(set) var list: [PolicyProblem] = []
  /// Number of problems that are not in `list`.
  public private(set) var more = 0

  public var isEmpty: Bool { list.isEmpty }

  public init() {}
  public init(_ problem: PolicyProblem) { list = [problem] }

  /// Of a text that is no JSON, or names a member twice.
  init(_ failure: JSONScanner.Failure) {
    let isTwice = failure == .duplicateKeys
    self.init(
      PolicyProblem(
        pointer: "", text: isTwice ? "An object names one member twice." : "This is not JSON (RFC 8259)."))
  }

  /// `pointer`, or its longest parent that is within `longestPointer`.
  private static func bounded(_ pointer: String) -> String {
    guard pointer.utf8.count > longestPointer else { return pointer }
    return pointer.lastIndex(of: "/").map { bounded(String(pointer[..<$0])) } ?? ""
  }

  mutating func add(_ pointer: String, _ text: String) {
    guard list.count < Self.maximumListed else { return more += 1 }
    list.append(PolicyProblem(pointer: Self.bounded(pointer), text: text))
  }
}
