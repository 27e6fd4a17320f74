extension Transcript {
  /// Parses a script; every line is a comment (`#`), blank, a directive (`@`), sent (`a>`) or expected (`a<`).
  public init(name: String, text: String) throws(TranscriptProblem) {
    self.name = name
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if lines.last == "" { lines.removeLast() }
    steps = []
    for (number, line) in lines.enumerated() where !line.isEmpty && !line.hasPrefix("#") {
      do {
        steps.append(Step(line: number, action: try Self.action(line)))
      } catch {
        throw TranscriptProblem(name, line: number, error.text)
      }
    }
  }

  private static func action(_ line: String) throws(Unreadable) -> Action {
    if line.hasPrefix("@") {
      let parts = line.dropFirst().split(separator: " ", maxSplits: 1)
      guard let name = parts.first else { throw Unreadable("a directive has a name") }
      return .directive(name: String(name), arguments: parts.count > 1 ? String(parts[1]) : "")
    }
    let connection = String(line.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) })
    guard !connection.isEmpty else { throw Unreadable("expected a connection's name, @ or #") }
    let rest = line.dropFirst(connection.count)
    let mark = rest.prefix { $0 != " " }
    let content = String(rest.dropFirst(mark.count + 1))
    switch mark {
    case ">": return .send(connection: connection, text: content)
    case ">raw": return .sendRaw(connection: connection, bytes: try RawText.bytes(content))
    case "<raw": return .expectRaw(connection: connection, bytes: try RawText.bytes(content))
    case "<", "<~", "<*", "<~*":
      return .expect(
        connection: connection,
        Expectation(
          isSubset: mark.contains("~"), isUnordered: mark.contains("*"), pattern: try Pattern(parsing: content)))
    default: throw Unreadable("expected one of > >raw < <raw <~ <* <~* after the connection's name")
    }
  }
}

/// The error in one line.
struct Unreadable: Error {
  var text: String
  init(_ text: String) { self.text = text }
}
