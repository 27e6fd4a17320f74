internal import CommandSupport
internal import JSONRPC
internal import PageGate
internal import WebPages

/// Asks the agent for what pages show and forms change, as the person does. Nothing but `AllowedMethods` gets through it.
final class AgentDesk: Sendable {
  /// The agent that runs, or the next one: this program can start none once it is confined.
  private let agent = AgentPool(mayStart: false)

  /// How long the agent may take for a page, and for a change, which may ask a provider.
  private static let pageSeconds = 15
  private static let changeSeconds = 90

  /// Adds the answers to what a page needs. A question that fails leaves the others.
  func ask(_ questions: [AgentQuestion], into answers: inout AgentAnswers) {
    var unreachable: CommandFailure?
    for question in questions {
      guard AllowedMethods.isRead(question.method) else {
        answers.refuse(question)
        continue
      }
      // The others of this page would wait as long.
      if let unreachable {
        answers.set(question.name, unreachable)
        continue
      }
      do throws(CommandFailure) {
        answers.set(question.name, result: try call(question, Self.pageSeconds, isRepeatable: true))
      } catch {
        answers.set(question.name, error)
        if error.status == .noAgent { unreachable = error }
      }
    }
  }

  /// What came of a form.
  struct Outcome {
    var answers = AgentAnswers()
    /// Of a sign-in that was begun: the page of the provider.
    var authorizationURL: String?
  }

  /// Makes the calls of a form in their order, up to the first that fails.
  func perform(_ calls: [AgentQuestion]) -> Outcome {
    var outcome = Outcome()
    for question in calls {
      guard AllowedMethods.isChange(question.method) else {
        outcome.answers.refuse(question)
        break
      }
      do throws(CommandFailure) {
        let result = try call(question, Self.changeSeconds, isRepeatable: false)
        if question.method == "signIn.begin" { outcome.authorizationURL = result["authorizationUrl"]?.string }
        outcome.answers.set(question.name, result: result)
      } catch {
        outcome.answers.set(question.name, error)
        break
      }
    }
    return outcome
  }

  private func call(
    _ question: AgentQuestion, _ seconds: Int, isRepeatable: Bool
  ) throws(CommandFailure) -> JSONValue {
    try agent.call(question.method, isRepeatable: isRepeatable, patienceSeconds: seconds) { writer in
      for (name, value) in question.params.members {
        writer.key(name)
        value.write(to: &writer)
      }
    } result: { node in
      var kept: [String: JSONValue] = [:]
      for (key, value) in node.members {
        guard let member = key.string, AllowedMethods.keeps(member, of: question.method) else { continue }
        kept[member] = JSONValue(value)
      }
      return .object(kept)
    }
  }
}

extension AgentAnswers {
  fileprivate mutating func set(_ name: String, _ failure: CommandFailure) {
    let told = failure.status == .noAgent && failure.name != "agentSilent" ? Self.noAgent : failure
    set(
      name, failureCode: Int(clamping: told.code ?? 0), message: ([told.message] + told.hints).joined(separator: " "))
  }

  fileprivate mutating func refuse(_ question: AgentQuestion) {
    set(question.name, failureCode: -32601, message: "This page may not ask the agent for that. Nothing was done.")
  }

  private static var noAgent: CommandFailure {
    CommandFailure(
      .noAgent, name: "noAgent", "The agent has ended, or does not answer.",
      hints: ["`lanyard status` in a terminal starts one, and this page goes on with it."])
  }
}
