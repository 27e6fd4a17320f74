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
}
