/// A call of the agent that a page or an action needs.
package struct AgentQuestion: Sendable, Hashable {
  /// Under which `AgentAnswers` has the answer; of one page each name once.
  package let name: String
  /// Of the contract, such as `account.list`.
  package let method: String
  /// An object.
  package let params: JSONValue

  package init(_ name: String, _ method: String, _ params: JSONValue = [:]) {
    (self.name, self.method, self.params) = (name, method, params)
  }
}

/// What the agent answered, by the names of the questions.
package struct AgentAnswers: Sendable {
  /// An error of the contract, or of the way to the agent.
  struct Failure: Sendable, Hashable {
    var code: Int
    var message: String
  }

  private enum Answer: Sendable {
    case result(JSONValue)
    case failure(Failure)
  }

  private var answers: [String: Answer] = [:]

  package init() {}

  package mutating func set(_ name: String, result: JSONValue) { answers[name] = .result(result) }

  /// - Parameter failureCode: of the contract, such as 1001; 0 where no agent answered.
  package mutating func set(_ name: String, failureCode: Int, message: String) {
    answers[name] = .failure(Failure(code: failureCode, message: message))
  }

  /// The result; nil if the call failed or was not made.
  subscript(name: String) -> JSONValue? {
    guard case .result(let result) = answers[name] else { return nil }
    return result
  }

  /// Why the call failed; nil if it did not.
  func failure(_ name: String) -> Failure? {
    guard case .failure(let failure) = answers[name] else { return nil }
    return failure
  }
}
