/// JSON Pointers (RFC 6901).
public enum JSONPointer {
  /// The step to a member: `/` and the name, with `~` and `/` escaped (§3). It is cut between characters to at most
  /// `maximumBytes`.
  public static func step(to name: String, maximumBytes: Int = .max) -> String {
    var step = "/"
    for scalar in name.unicodeScalars {
      let text =
        switch scalar {
        case "~": "~0"
        case "/": "~1"
        default: String(scalar)
        }
      guard step.utf8.count + text.utf8.count <= maximumBytes else { break }
      step += text
    }
    return step
  }

  /// The names and numbers of a pointer's steps; nil for a text that is none (§3).
  public static func steps(_ pointer: String) -> [String]? {
    guard !pointer.isEmpty else { return [] }
    guard pointer.utf8.first == UInt8(ascii: "/") else { return nil }
    var steps = [""]
    var escape = false
    for scalar in pointer.unicodeScalars.dropFirst() {
      switch (escape, scalar) {
      case (true, "0"): steps[steps.count - 1] += "~"
      case (true, "1"): steps[steps.count - 1] += "/"
      case (true, _): return nil
      case (false, "/"): steps.append("")
      case (false, "~"): break
      case (false, _): steps[steps.count - 1].unicodeScalars.append(scalar)
      }
      escape = !escape && scalar == "~"
    }
    return escape ? nil : steps
  }
}

extension JSONNode {
  /// The value that a pointer names (RFC 6901 §4); nil if there is none.
  public subscript(pointer pointer: String) -> JSONNode? {
    guard let steps = JSONPointer.steps(pointer) else { return nil }
    var node = self
    for step in steps {
      guard let next = node.child(step) else { return nil }
      node = next
    }
    return node
  }

  private func child(_ step: String) -> JSONNode? {
    switch kind {
    case .object: members.first { Array(step.utf8) == $0.key.utf8 }?.value
    case .array where step == "0" || step.utf8.first != UInt8(ascii: "0"):
      step.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        ? Int(step).flatMap { index in elements.dropFirst(index).first { _ in true } } : nil
    default: nil
    }
  }
}
