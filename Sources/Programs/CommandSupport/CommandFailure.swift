public import JSONRPC

/// Why a command ends without its answer: an exit code for scripts, words for people, JSON for programs.
public struct CommandFailure: Error, Sendable {
  public var status: ExitStatus
  /// The contract's name of an error of the agent, or a name of ours (`noAgent`, `usage`, …).
  public var name: String
  /// What happened and what was kept.
  public var message: String
  /// What the person can do now, one sentence or command each.
  public var hints: [String]
  /// The error object as it came over the wire; nil if the agent never spoke.
  public var wire: String?
  /// How often the same can be tried with something else; nil where there is nothing more to try.
  public var attemptsLeft: Int64?
  /// The parameter that the agent did not take: a JSON Pointer, and what should stand there.
  public var problem: (path: String, expected: String)?
  /// Told as JSON even where people read: for raw calls.
  public var isRaw = false

  public init(_ status: ExitStatus, name: String, _ message: String, hints: [String] = []) {
    self.status = status
    self.name = name
    self.message = message
    self.hints = hints
  }

  /// The command line was not understood.
  public static func usage(_ message: String, hints: [String] = []) -> CommandFailure {
    CommandFailure(.usage, name: "usage", message, hints: hints)
  }

  /// From the `error` member of an answer to `method`.
  public init(error: JSONNode, of method: String) {
    let code = error["code"]?.integer ?? 0
    let data = error["data"]
    self.init(
      ExitStatus(errorCode: code), name: data?["name"]?.string ?? "error\(code)",
      error["message"]?.string ?? "The agent refused \(method).")
    wire = String(decoding: error.raw, as: UTF8.self)
    if let path = data?["path"]?.string, let expected = data?["expected"]?.string { problem = (path, expected) }
    attemptsLeft = data?["attemptsLeft"]?.integer
    if code == -32601 {
      message = "The agent that runs here does not know the method \(method)."
      hints = [
        "It may be older than this program: `lanyard rpc agent.shutdown` ends it, the next command starts yours."
      ]
    } else {
      hints = ErrorMessages.hints(name: name, data: data)
    }
  }
}
