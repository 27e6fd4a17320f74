internal import AgentCore

/// Renders `Schemas/generated/sign-out-states.md`: a diagram and tables of every path through `SignOutMachine`.
struct SignOutDocument {
  typealias Machine = SignOutMachine

  private let transitions: Transitions

  /// Drives the machine in each mode, with every report, from every state that it reaches.
  init() {
    var found = Transitions()
    for mode in SignOutMode.allCases { Self.walk(from: Machine(mode), into: &found) }
    transitions = found
  }

  private static func walk(from machine: Machine, into found: inout Transitions) {
    for (report, tell) in reports {
      var after = machine
      let effects = tell(&after)
      guard after != machine else { continue }
      found.add(
        Transition(
          from: Labels.caseName(machine.state), input: report, variant: machine.mode.rawValue,
          to: Labels.caseName(after.state), effects: effects.map(effect)))
      walk(from: after, into: &found)
    }
  }

  private static let entries: [[Machine.Entry]] = [[], [[1]], [[1], [2]]]

  private static var reports: [(String, (inout Machine) -> [Machine.Effect])] {
    let commits = entries.flatMap { entries in
      [false, true].map { flag -> (String, (inout Machine) -> [Machine.Effect]) in
        ("durable", { $0.committed(.init(wasActive: flag, entries: entries, isErased: flag)) })
      }
    }
    return commits + [
      ("store failed", { $0.refused() }), ("waiters refused", { $0.released() }),
      ("nothing held", { $0.releasedHeldAnswer(nil) }), ("a held answer", { $0.releasedHeldAnswer([3]) }),
      ("put off", { $0.postponed() }), ("queued", { $0.queued() }), ("answered", { $0.revoked(.confirmed) }),
      ("caller's time over", { $0.revoked(nil) }),
    ]
  }

  private static func effect(_ effect: Machine.Effect) -> String {
    switch effect {
    case .tellState: "tell the state"
    case .tellSwitched: "tell that no account is active"
    case .send: "send another entry"
    case .tellSignedOut: "tell the outcome"
    case .tellErased: "tell what was erased"
    }
  }

  var text: String {
    """
    # The states of a sign-out

    Made from `SignOutMachine` (`Sources/Domain/AgentCore/SignOut`) by driving it in every mode with everything that can
    happen; do not edit. `make schemas` writes it again, and `swift test` fails when it is not what the machine does.

    The order is explained in [sign-out](../../docs/sign-out.md#order). Words in brackets are the modes for which an
    arrow is, where it is not for all.

    ```mermaid
    stateDiagram-v2
      [*] --> committing
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
    case "committing": "one durable transaction signs the account out; with `hard` it destroys the keys"
    case "releasing": "the account refuses its waiters and wipes its tokens"
    case "releasingHeldAnswer": "the account gives up an answer that it could not keep"
    case "postponing": "the token of such an answer is put off"
    case "queueing": "all tokens are put off"
    case "revoking": "the refresh tokens are revoked, for as long as the caller waits"
    case "signedOut": "the caller is answered"
    case "failed": "nothing was changed"
    default: "a state that this table has no words for yet"
    }
  }
}
