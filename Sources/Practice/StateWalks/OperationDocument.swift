internal import AgentCore
internal import AgentModel

/// Renders `Schemas/generated/operation-states.md`: a diagram and tables of every path through `OperationMachine`.
struct OperationDocument {
  typealias Machine = OperationMachine

  private let transitions: Transitions

  /// Drives operations of each kind with everything that can happen, from every state that they reach.
  init() {
    var found = Transitions()
    for (variant, machine) in Self.kinds {
      var waiting = [machine]
      var seen = Set(waiting.map(Self.look))
      while let next = waiting.popLast() {
        for (input, tell) in Self.inputs {
          var after = next
          let effects = tell(&after)
          guard after != next else { continue }
          found.add(
            Transition(
              from: Self.name(next), input: input, variant: variant, to: Self.name(after),
              effects: effects.map(Self.effect)))
          if seen.insert(Self.look(after)).inserted { waiting.append(after) }
        }
      }
    }
    transitions = found
  }

  private static let kinds: [(String, Machine)] = [
    ("write", Machine(.agent, expiresAt: Timestamp(milliseconds: 10_000_000))),
    (
      "write with retryWithinSeconds",
      Machine(.agent, retryWithin: .seconds(5_000), expiresAt: Timestamp(milliseconds: 10_000_000))
    ),
    ("read", Machine(.agent, isRead: true, expiresAt: Timestamp(milliseconds: 10_000_000))),
    ("client", Machine(.client, expiresAt: Timestamp(milliseconds: 10_000_000))),
  ]

  private static let now = Timestamp(milliseconds: 1_000)

  private static var inputs: [(String, (inout Machine) -> [Machine.Effect])] {
    [
      ("offered", { $0.offered() }), ("leaves", { $0.leaves(at: now) }), ("withheld", { $0.withheld() }),
      ("2xx", { $0.answered(.init(status: 200), at: now, jitter: 0.5) }),
      ("409, 412", { $0.answered(.init(status: 409), at: now, jitter: 0.5) }),
      ("408, 425, 429, 503", { $0.answered(.init(status: 503), at: now, jitter: 0.5) }),
      ("other 5xx", { $0.answered(.init(status: 500), at: now, jitter: 0.5) }),
      ("other answer", { $0.answered(.init(status: 404), at: now, jitter: 0.5) }),
      ("no answer, 502, 504", { $0.lost(at: now, jitter: 0.5) }), ("answer too large", { $0.unreadable() }),
      ("agent died", { $0.interrupted(at: now) }), ("from an old copy", { $0.distrusted() }),
      ("denied", { $0.denied() }),
      ("person wanted", { $0.personWanted() }), ("signed in again", { $0.signedInAgain() }),
      ("time over", { $0.lapsed(at: Timestamp(milliseconds: 20_000_000)) }),
      ("claimed", { $0.claimed("c") }), ("claim ended", { $0.released("c") }),
      ("settled: done", { $0.settled(.done, by: "c") }), ("settled: rejected", { $0.settled(.rejected, by: "c") }),
      ("settled: retry", { $0.settled(.retry, by: "c") }),
      ("retried", { $0.retried(at: now) }), ("cancelled", { $0.cancelled() }), ("orphaned", { $0.orphaned() }),
    ]
  }

  /// What decides, without counts that only grow.
  private struct Look: Hashable {
    var state: Machine.State
    var isInDoubt: Bool
    var errors: Int
  }

  private static func look(_ machine: Machine) -> Look {
    var state = machine.state
    if case .queued(.some) = state { state = .queued(notBefore: now) }
    if case .unknown(.some) = state { state = .unknown(retryAt: now) }
    return Look(
      state: state, isInDoubt: machine.isInDoubt,
      errors: min(max(machine.serverErrors, machine.isRead ? machine.failures : 0), Machine.mostServerErrors))
  }

  private static func name(_ machine: Machine) -> String {
    switch machine.state {
    case .unknown(.some): "unknownWaiting"
    default: Labels.caseName(machine.state)
    }
  }

  private static func effect(_ effect: Machine.Effect) -> String {
    switch effect {
    case .store: "store"
    case .tell: "tell the status"
    }
  }

  var text: String {
    """
    # The states of an operation

    Made from `OperationMachine` (`Sources/Domain/AgentCore/Operations`) by driving it with everything that can happen, from
    every state that it reaches; do not edit. `make schemas` writes it again, and `swift test` fails when it is not what the
    machine does.

    What the statuses mean is told in [operations](../../docs/operations.md). Words in brackets are the kinds of operation
    for which an arrow is, where it is not for all: a `read` or a `write` that the agent sends, or one that a `client`
    delivers.

    ```mermaid
    stateDiagram-v2
      [*] --> queued
    \(transitions.diagram(outside: "").map { "  " + $0 }.joined(separator: "\n"))
    ```

    \(Transitions.table(["state", "status", ""], transitions.states.map { ["`\($0)`", "`\(Self.status($0))`", Self.meaning(of: $0)] }))

    ## All transitions

    What the machine asks of the agent stands under "then"; with a question mark, not in all of the cases.

    \(transitions.table)

    """
  }

  private static func status(_ state: String) -> String {
    switch state {
    case "unknownWaiting": "unknown"
    case "claimed": "sending"
    default: state
    }
  }

  private static func meaning(of state: String) -> String {
    switch state {
    case "queued": "waits for its turn, or for the end of a pause"
    case "ready": "waits for a client that claims it"
    case "sending": "its request may have left"
    case "claimed": "a client delivers it"
    case "done": "was delivered"
    case "rejected": "was refused; the payload is kept"
    case "needsInteraction": "waits for the person"
    case "unknown": "its answer was lost; only the person has it sent again"
    case "unknownWaiting": "its answer was lost, and it is sent again"
    case "orphaned": "its account was erased"
    case "cancelled": "was taken out"
    default: "a state that this table has no words for yet"
    }
  }
}
