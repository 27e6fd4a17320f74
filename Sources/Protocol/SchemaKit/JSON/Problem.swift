internal import JSONRPC

/// A problem of a document: its place and a text for people.
public struct Problem: Hashable, Sendable, CustomStringConvertible {
  /// JSON Pointer (RFC 6901), after the path of the file if there are several.
  public var pointer: String
  /// The problem in a few words.
  public var text: String

  public init(_ pointer: String, _ text: String) {
    self.pointer = pointer
    self.text = text
  }

  public var description: String { (pointer.isEmpty ? "the whole" : pointer) + ": " + text }
}

extension String {
  /// Appends a step to a member (RFC 6901 §3).
  func pointer(to name: String) -> String { self + JSONPointer.step(to: name) }

  func pointer(to index: Int) -> String { self + "/\(index)" }
}
