internal import JSONRPC

/// Why params were refused: `data.path` and `data.expected` of error -32602.
public struct ParamsProblem: Error, Hashable, Sendable {
  /// JSON Pointer (RFC 6901) into `params`; empty for `params` itself.
  public var path: String
  /// The value that the schema expects. It never repeats the received value.
  public var expected: String

  public init(path: String = "", expected: String) {
    self.path = path
    self.expected = expected
  }

  static func missing(_ name: StaticString, expected: StaticString) -> ParamsProblem {
    ParamsProblem(path: "/\(name)", expected: "\(expected)")
  }

  /// The name of an unknown member is the only input that an error repeats; it is cut to this many bytes.
  private static let maximumStepBytes = 128

  /// `expected` of a member that the schema does not have.
  public static let unknownMember = "member of params"

  static func unknownMember(_ key: JSONNode) -> ParamsProblem {
    ParamsProblem(path: pointerStep(key), expected: unknownMember)
  }

  private static func pointerStep(_ key: JSONNode) -> String {
    JSONPointer.step(to: key.string ?? "", maximumBytes: maximumStepBytes)
  }

  func below(_ name: StaticString) -> ParamsProblem { ParamsProblem(path: "/\(name)" + path, expected: expected) }
  func below(_ index: Int) -> ParamsProblem { ParamsProblem(path: "/\(index)" + path, expected: expected) }
  func below(_ key: JSONNode) -> ParamsProblem {
    ParamsProblem(path: Self.pointerStep(key) + path, expected: expected)
  }
}

/// Reads a member and adds its name to the path of a problem. Inlined: it costs nothing if there is none.
@inline(__always)
func reading<Value>(
  _ name: StaticString, _ read: () throws(ParamsProblem) -> Value
) throws(ParamsProblem) -> Value {
  do throws(ParamsProblem) { return try read() } catch { throw error.below(name) }
}
