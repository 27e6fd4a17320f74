internal import AgentCore
internal import AgentModel

/// Renders `Schemas/generated/approval-states.md`: a diagram and tables of every path through `ApprovalMachine`.
struct ApprovalDocument {
  typealias Machine = ApprovalMachine

  private let transitions: Transitions

  /// Drives a request of one caller, and one of two, with everything that can happen, from every state that it reaches.
  init() {
    var found = Transitions()
    for (variant, machine) in Self.kinds {
      var waiting = [machine]
      var seen = Set(waiting)
      while let next = waiting.popLast() {
        for (input, tell) in Self.inputs {
          var after = next
          let effects = tell(&after)
          guard after != next else { continue }
          found.add(
            Transition(
              from: Self.name(next), input: input, variant: variant, to: Self.name(after),
              effects: effects.map(Self.effect)))
          if seen.insert(after).inserted { waiting.append(after) }
        }
      }
    }
    transitions = found
  }

  private static let kinds: [(String, Machine)] = {
    let alone = Machine(askedBy: 1, until: moment(300), grantEndsAt: moment(1_000))
    var shared = alone
    _ = shared.joined(by: 2)
    return [("one caller", alone), ("two callers", shared)]
  }()

  private static func moment(_ seconds: Int64) -> BootInstant { BootInstant(milliseconds: seconds * 1_000) }

  private static var inputs: [(String, (inout Machine) -> [Machine.Effect])] {
    let verdicts = Machine.Verdict.allCases.map { verdict -> (String, (inout Machine) -> [Machine.Effect]) in
      (verdict.rawValue, { $0.decided(verdict, by: .call) ?? [] })
    }
    return verdicts + [
      ("recorded", { $0.recorded() }), ("not recorded", { $0.notRecorded() }),
      ("allowed for the session", { $0.allowed(by: .call) }),
      ("a caller left", { $0.left($0.askers.first ?? 0) }), ("time over", { $0.passed(to: moment(300)) }),
      ("grant's time over", { $0.passed(to: moment(1_000)) }), ("grant ended", { $0.grantEnded() }),
      ("locked", { $0.locked() }), ("agent ends", { $0.shutDown() }),
    ]
  }

  private static func name(_ machine: Machine) -> String {
    switch machine.state {
    case .waiting: "waiting"
    case .deciding: "deciding"
    case .ended(.decided(let verdict, _)): verdict == .deny ? "declined" : "approved"
    case .ended(let end): Labels.caseName(end)
    }
  }

  private static func effect(_ effect: Machine.Effect) -> String {
    switch effect {
    case .record: "write the verdict down"
    case .answer: "answer the callers"
    case .keepAllowance: "allow the capability until the grant ends"
    case .keepRefusal: "refuse the same request for a minute"
    case .tell: "tell the end"
    }
  }

  var text: String {
    """
    # The states of a request that waits for a person

    Made from `ApprovalMachine` (`Sources/Domain/AgentCore/Approvals`) by driving it with everything that can happen, from
    every state that it reaches; do not edit. `make schemas` writes it again, and `swift test` fails when it is not what
    the machine does.

    What waits, and who decides, is told in [approvals](../../docs/approvals.md). Words in brackets are the cases for which
    an arrow is, where it is not for all.

    ```mermaid
    stateDiagram-v2
      [*] --> waiting
    \(transitions.diagram(outside: "").map { "  " + $0 }.joined(separator: "\n"))
    ```

    \(Transitions.table(["state", ""], transitions.states.map { ["`\($0)`", Self.meaning(of: $0)] }))

    ## All transitions

    What the machine asks of the agent stands under "then"; with a question mark, not in all of the cases.

    \(transitions.table)

    """
  }

  private static func meaning(of state: String) -> String {
    switch state {
    case "waiting": "waits for a verdict"
    case "deciding": "a verdict came, and is written to the audit log; no other one is taken"
    case "approved": "the request is sent, if the policy, the grant and the account still allow it"
    case "declined": "4001, reason `declined`"
    case "timedOut": "4001, reason `notApproved`"
    case "withdrawn": "no caller waits any more"
    case "grantEnded": "1007"
    case "locked": "1001"
    case "shuttingDown": "1002"
    default: "a state that this table has no words for yet"
    }
  }
}
