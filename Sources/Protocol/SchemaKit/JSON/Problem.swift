/// Something wrong with a document, and where: a JSON Pointer (RFC 6901), and a text for a person.
public struct Problem: Hashable, Sendable, CustomStringConvertible {
  public var pointer: String
  public var text: String

  public init(_ pointer: String, _ text: String) {
    self.pointer = pointer
    self.text = text
  }

  public var description: String { (pointer.isEmpty ? "the whole" : pointer) + ": " + text }
}

extension String {
  /// This pointer, one step further.
  func pointer(to name: String) -> String {
    var step = ""
    for character in name {
      switch character {
      case "~": step += "~0"
      case "/": step += "~1"
      default: step.append(character)
      }
    }
    return self + "/" + step
  }

  func pointer(to index: Int) -> String { self + "/\(index)" }
}
