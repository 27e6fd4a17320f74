internal import JSONRPC

/// Why params do not fit: the `data.path` and `data.expected` of an error -32602.
public struct ParamsProblem: Error, Hashable, Sendable {
  /// A JSON Pointer (RFC 6901) into params; empty for the whole.
  public var path: String
  /// What would have fitted, for a person and for a program. It never says what was there.
  public var expected: String

  public init(path: String = "", expected: String) {
    self.path = path
    self.expected = expected
  }

  static func missing(_ name: StaticString, expected: StaticString) -> ParamsProblem {
    ParamsProblem(path: "/\(name)", expected: "\(expected)")
  }

  /// The name of an unknown member is all of the input that an error tells, and no more of it than this.
  private static let longestTold = 128

  static func unknownMember(_ key: JSONNode) -> ParamsProblem {
    ParamsProblem(path: pointerStep(key), expected: "member of params")
  }

  /// RFC 6901 §3: `~` and `/` are escaped. Cut at a whole character.
  static func pointerStep(_ key: JSONNode) -> String {
    var step = "/"
    for scalar in (key.string ?? "").unicodeScalars {
      let text =
        switch scalar {
        case "~": "~0"
        case "/": "~1"
        default: String(scalar)
        }
      guard step.utf8.count + text.utf8.count <= longestTold else { break }
      step += text
    }
    return step
  }

  func below(_ name: StaticString) -> ParamsProblem { ParamsProblem(path: "/\(name)" + path, expected: expected) }
  func below(_ index: Int) -> ParamsProblem { ParamsProblem(path: "/\(index)" + path, expected: expected) }
  func below(_ key: JSONNode) -> ParamsProblem {
    ParamsProblem(path: Self.pointerStep(key) + path, expected: expected)
  }
}

/// Reads a member, so that what is wrong with it is told with its place. Costs nothing while all is well.
@inline(__always)
func reading<Value>(
  _ name: StaticString, _ read: () throws(ParamsProblem) -> Value
) throws(ParamsProblem) -> Value {
  do throws(ParamsProblem) { return try read() } catch { throw error.below(name) }
}
