/// What is wrong with a policy document, and where (RFC 6901). Told to whoever wrote it.
public struct PolicyProblem: Hashable, Sendable {
  public var pointer: String
  public var text: String

  public init(pointer: String, text: String) {
    self.pointer = pointer
    self.text = text
  }
}

/// Every problem of a document, in its order.
public struct PolicyProblems: Error, Hashable, Sendable {
  /// Whoever mends so many asks again; what came after is counted.
  static let kept = 100
  /// A name in a document may be as long as the document; of its place no more is told than finds it.
  static let longestPointer = 1024

  public private(set) var list: [PolicyProblem] = []
  /// How many there are beyond those.
  public private(set) var more = 0

  public var isEmpty: Bool { list.isEmpty }

  public init() {}
  public init(_ problem: PolicyProblem) { list = [problem] }

  /// The place, or the nearest one around it whose pointer is short enough.
  private static func bounded(_ pointer: String) -> String {
    guard pointer.utf8.count > longestPointer else { return pointer }
    return pointer.lastIndex(of: "/").map { bounded(String(pointer[..<$0])) } ?? ""
  }

  mutating func add(_ pointer: String, _ text: String) {
    guard list.count < Self.kept else { return more += 1 }
    list.append(PolicyProblem(pointer: Self.bounded(pointer), text: text))
  }
}
