/// A golden transcript: a readable script of what clients send and what the agent answers
/// (Tests/Transcripts/README.md).
public struct Transcript: Sendable {
  /// The transcript's name: its path below the folder of transcripts.
  public var name: String
  /// The text, line by line, so that update mode can replace expectations.
  public var lines: [String]
  public var steps: [Step]

  /// One line that is not a comment.
  public struct Step: Sendable {
    /// Counted from 0.
    public var line: Int
    public var action: Action
  }

  public enum Action: Sendable {
    /// `a> …`: the text and a newline.
    case send(connection: String, text: String)
    /// `a>raw "…"`: these bytes.
    case sendRaw(connection: String, bytes: [UInt8])
    /// `a< …`, `a<~ …`, each also with `*`.
    case expect(connection: String, Expectation)
    /// `a<raw "…"`: a line with just these bytes.
    case expectRaw(connection: String, bytes: [UInt8])
    /// `@name arguments`.
    case directive(name: String, arguments: String)
  }

  public struct Expectation: Sendable {
    /// `~`: more members may follow.
    public var isSubset: Bool
    /// `*`: in any order among adjacent lines that have it too. Requests in flight are answered in any order.
    public var isUnordered: Bool
    public var pattern: Pattern
  }

  /// The arguments of `@covers`, in order.
  public var covers: [String] {
    steps.flatMap { step -> [String] in
      guard case .directive("covers", let words) = step.action else { return [] }
      return words.split(separator: " ").map(String.init)
    }
  }
}

/// A transcript that cannot be read or does not match, with the line (counted from 1).
public struct TranscriptProblem: Error, CustomStringConvertible, Sendable {
  public var place: String
  public var text: String

  init(_ transcript: String, line: Int, _ text: String) {
    place = "\(transcript):\(line + 1)"
    self.text = text
  }

  public var description: String { "\(place): \(text)" }
}

extension Transcript.Action {
  var isSend: Bool {
    switch self {
    case .send, .sendRaw: true
    default: false
    }
  }

  var isExpectation: Bool {
    switch self {
    case .expect, .expectRaw: true
    default: false
    }
  }
}
