public import JSONRPC

/// Why a command failed: an exit code for scripts, a message and hints for people, JSON for programs.
public struct CommandFailure: Error, Sendable {
  public var status: ExitStatus
  /// The name of the agent's error in `Schemas/errors.json`, or a name of this program (`noAgent`, `usage`, …).
  public var name: String
  /// The failure and its consequences in one or two sentences, for the person.
  public var message: String
  /// Next steps for the person: one sentence each, with the command in backticks.
  public var hints: [String]
  /// The error object as the agent sent it; nil if the failure is this program's own.
  public var wire: String?
  /// The code of the agent's error; nil if the failure is this program's own.
  public var code: Int64?
  /// `data.attemptsLeft`: how many more PINs or pasted addresses the agent accepts; nil if the error has no such limit.
  public var attemptsLeft: Int64?
  /// `data.reason`: one word for what lies behind the name.
  public var reason: String?
  /// `data.source`: the administrator's file that the failure is about.
  var source: String?
  /// `data.account`: the id of the account that the failure is about.
  public var account: String?
  /// `data.candidates`: the ids of the accounts that match a name.
  public var candidates: [String] = []
  /// The parameter that the agent did not accept.
  public var problem: ParameterProblem?
  /// The names in the request that the agent refused.
  var asked: AskedNames?
  /// `Output.tell` prints `wire` also without `--json`: `lanyard rpc` sets it.
  public var isRaw = false

  public init(_ status: ExitStatus, name: String, _ message: String, hints: [String] = []) {
    self.status = status
    self.name = name
    self.message = message
    self.hints = hints
  }

  /// A mistake in the command line: exit code 2.
  public static func usage(_ message: String, hints: [String] = []) -> CommandFailure {
    CommandFailure(.usage, name: "usage", message, hints: hints)
  }

  /// The proxy, and not the server, is the cause: the agent's message names it.
  public var isOfProxy: Bool { Self.isOfProxy(reason) }

  /// A page for people came where a document was asked for, as the sign-in page of a network sends it.
  public var isOfPage: Bool { reason == "foreignPage" }

  static func isOfProxy(_ reason: String?) -> Bool { reason?.hasPrefix("proxy") == true }

  /// The agent's message names a cause that is neither the server nor the network: a proxy, or a library that is missing.
  public var isOfThisSide: Bool { isOfProxy || Self.isOfLibrary(reason) }

  static func isOfLibrary(_ reason: String?) -> Bool { reason == "noLibrary" }

  /// From the `error` member of an answer.
  public init(error: JSONNode) {
    let code = error["code"]?.integer ?? 0
    let data = error["data"]
    let name = data?["name"]?.string ?? "error\(code)"
    let mayPass = data?["retryable"]?.bool == true && data?["outcome"]?.isText("unknown") != true
    self.init(
      ExitStatus(errorCode: code, mayPass: mayPass), name: name,
      ErrorMessages.message(code: code, error["message"]?.string, reason: data?["reason"]?.string))
    wire = String(decoding: error.raw, as: UTF8.self)
    self.code = code
    if let path = data?["path"]?.string, let expected = data?["expected"]?.string {
      problem = ParameterProblem(path: path, expected: expected)
    }
    reason = data?["reason"]?.string
    source = data?["source"]?.string
    account = data?["account"]?.string
    candidates = data?["candidates"]?.elements.compactMap(\.string) ?? []
    attemptsLeft = data?["attemptsLeft"]?.integer
    // The agent's message may already name the command.
    hints = ErrorMessages.hints(code: code, name: name, data: data, problem: problem).filter { !message.contains($0) }
  }
}
