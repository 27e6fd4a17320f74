internal import AgentCore

/// Renders `Schemas/generated/exchange-states.md`: diagrams and tables of the steps that the walk found.
struct ExchangeDocument {
  private let walk: ExchangeWalk

  init(_ walk: ExchangeWalk) { self.walk = walk }

  var text: String {
    """
    # The states of an exchange

    Made from `ExchangeMachine` (`Sources/Domain/AgentCore/Tokens`) by driving it with everything that can happen, from
    every state that it reaches; do not edit. `make schemas` writes it again, and `swift test` fails when it is not what
    the machine does.

    A run carries out one attempt of the token machine ([the states of a grant](grant-states.md)) in the order of the
    journal ([tokens](../../docs/tokens.md#journal)). Words in brackets say for which runs an arrow is: `counts` is the
    usual case, `vault locked` is a run whose account left memory, `signed in since` one whose place a sign-in took, and
    `signed out since` one whose account is in another epoch.

    ## A run

    ```mermaid
    stateDiagram-v2
    \(walk.runs.diagram(outside: "none").map { "  " + $0 }.joined(separator: "\n"))
    ```

    \(Transitions.table(["step", ""], steps.map { ["`\($0)`", Labels.step($0)] }))

    ## What a run leaves

    `answer` and `outcome` outlive a locking of the vault; the next run begins with them.

    ```mermaid
    stateDiagram-v2
      [*] --> nothing
    \(walk.leftovers.diagram(outside: "none").map { "  " + $0 }.joined(separator: "\n"))
    ```

    ## All transitions

    What the machine asks of the agent stands under "then"; with a question mark, not in all of the cases.

    ### A run reports

    \(walk.runs.table)

    ### The account

    \(walk.account.table)

    """
  }

  private var steps: [String] { walk.runs.states.filter { $0 != "none" } }
}

extension Labels {
  static func exchangeEffect(_ effect: ExchangeWalk.Machine.Effect) -> String {
    switch effect {
    case .start: "start a run"
    case .leaveQueue: "leave the queue"
    case .release: "release the account"
    case .outdateLoads: "discard what is being loaded"
    case .logFailure: "log the failure"
    case .report(.held): "report that the answer is held"
    case .report(.failure): "report the failure"
    case .report(.noToken): "report that no token came"
    case .report(.token): "report the token"
    case .report(.answer): "report that an answer is there"
    case .report(.lostRequest): "report the lost request"
    case .forgetRefreshToken: "forget the refresh token"
    case .publish: "publish"
    case .tellScopes: "tell lost scopes"
    case .tellRights: "tell changed rights"
    case .tellRefreshed: "tell the new token"
    case .answerWaiters: "answer the waiters"
    case .askAboutRights: "ask about rights"
    case .watchRenewal: "plan the renewal"
    }
  }

  /// The action of a run's step.
  static func step(_ step: String) -> String {
    switch step {
    case "revokeHeld": "revoke an answer that was held for an earlier sign-in"
    case "queue": "wait for a place among the exchanges of all accounts"
    case "prepare": "make the intent"
    case "connect": "make a connection for the request"
    case "begin": "make the intent durable: the connection stands, and nothing has been sent on it"
    case "mark": "mark the durable intent as leaving, in a commit that survives the process and not the machine"
    case "send": "send the request, once"
    case "withhold": "close the connection without the request"
    case "stage": "make the raw answer durable, before anything in it is judged"
    case "judge": "read the answer"
    case "disown": "revoke another person's answer and the refresh token that it was asked with"
    case "commit": "make the new grant durable"
    case "adopt": "take the new grant into memory"
    case "settle": "make durable what a failure means"
    case "noteUnspent": "note in the locked vault's inbox that the request spent nothing"
    case "drop": "put a held answer into the locked vault's inbox"
    case "revokeOvertaken": "revoke an answer that came too late for its account"
    case "end": "make room for the next run"
    default: "a step that this table has no words for yet"
    }
  }
}
