internal import AgentCore
internal import AgentModel

/// Renders `Schemas/generated/grant-states.md`: diagrams and tables of the states that the walk found.
struct GrantDocument {
  private let steps: [Explorer.Step]
  private let answers: [Look: [String: Set<[String]>]]

  init(_ explorer: Explorer) {
    steps = explorer.steps
    answers = explorer.answers
  }

  var text: String {
    """
    # The states of a grant

    Made from `TokenMachine` (`Sources/Domain/AgentCore/Tokens`) by driving it with everything that can happen, from every state
    that it reaches; do not edit. `LANYARD_UPDATE_DIAGRAM=1 swift test --filter StateDiagram` writes it again, and
    `swift test` fails when it is not what the machine does.

    How to read it. A grant has two axes: what goes on with it (the first diagram) and how old the access token is that
    it keeps in memory (the second). An arrow is something that happens. Labels in brackets tell for which `refresh.reuse`
    of the provider it is so, where that matters; `replayOnce` and `replayLast` are `strict` with that `onUnknownOutcome`, `one audience`
    is a token for a `resource` or fewer scopes, whose trouble stays its own. Two arrows with the same words out of one
    state depend on what the diagram does not show: how many failures came before, how long ago the request was sent, who
    waits. The tables tell the same in full.

    ## Health

    ```mermaid
    stateDiagram-v2
    \(indented(diagram(\.phase, from: "ok")))
    ```

    \(everywhere(\.phase))

    \(table(["state", ""], phases.map { ["`\($0)`", Labels.phase($0)] }))

    ## Freshness of the token in memory

    ```mermaid
    stateDiagram-v2
    \(indented(diagram(\.freshnessName, from: "none")))
    ```

    \(everywhere(\.freshnessName))

    ## What a program is told

    At once, or after the exchange that it waits for. `cache` and `staleOk` are the `source` of the answer, a refusal has
    the name of its case in `TokenMachine.Refusal`. Where there are several, it depends on why the state was entered; a
    token that replaced a rejected one, and is rejected itself within \(TokenMachine.breakerWindow.wholeSeconds) s, is refused
    as `interaction`. After a refusal that stands, a forced exchange is let through once in
    \(TokenMachine.recheckWhenForced.wholeSeconds) s, and `token.get` after \(TokenMachine.recheckWhenAsked.wholeSeconds) s where the
    account may have been mended elsewhere.

    \(table(["state", "token"] + Subject.demands.map { "`\($0)`" }, demandRows))

    ## All transitions

    What the machine asks of the agent stands under "then"; with a question mark, not in all of the cases.

    \(Input.Group.allCases.filter { $0 != .demand }.map(transitions).joined(separator: "\n\n"))

    """
  }

  private func indented(_ lines: [String]) -> String { lines.map { "  " + $0 }.joined(separator: "\n") }

  private func table(_ head: [String], _ rows: [[String]]) -> String {
    ([head, head.map { _ in "---" }] + rows).map { "| " + $0.joined(separator: " | ") + " |" }.joined(separator: "\n")
  }

  /// The phases in the order in which the walk reached them.
  private var phases: [String] { steps.flatMap { [$0.from.phase, $0.to.phase] }.withoutRepetition }

  // MARK: diagrams

  /// The inputs that lead to the same state from every state: listed in a sentence, not drawn as arrows.
  private func leadsFromEverywhere(_ axis: (Look) -> String) -> [(input: Input.Name, to: String)] {
    steps.map(\.input).withoutRepetition.compactMap { input in
      let of = steps.filter { $0.input == input }
      let targets = Set(of.map { axis($0.to) })
      guard targets.count == 1, Set(of.map { axis($0.from) }).subtracting(targets).count > 2 else { return nil }
      return (input, targets.first!)
    }
  }

  private func everywhere(_ axis: (Look) -> String) -> String {
    let leads = leadsFromEverywhere(axis)
    return "From every state, and so not drawn: "
      + leads.map { "*\($0.input.text)* leads to `\($0.to)`" }.joined(separator: ", ") + "."
  }

  /// The arrows between the values of one axis, with one label for each pair of states.
  private func diagram(_ axis: (Look) -> String, from first: String) -> [String] {
    let left = Set(leadsFromEverywhere(axis).map(\.input))
    let moves = steps.filter { axis($0.from) != axis($0.to) && !left.contains($0.input) }
    let arrows = moves.map { Arrow(from: axis($0.from), to: axis($0.to)) }.withoutRepetition
    return ["[*] --> \(first)"]
      + arrows.map { arrow in
        let inputs = moves.filter { axis($0.from) == arrow.from && axis($0.to) == arrow.to }.map(\.input)
          .withoutRepetition
        let told = inputs.map { input in
          (input, Labels.variants(of: input, from: arrow.from, to: arrow.to, in: steps, by: axis))
        }
        return "\(arrow.from) --> \(arrow.to) : \(Labels.label(told))"
      }
  }

  private struct Arrow: Hashable {
    var from: String
    var to: String
  }

  // MARK: tables

  private var demandRows: [[String]] {
    phases.flatMap { phase -> [[String]] in
      let looks = TokenMachine.Freshness.allInOrder.map { Look(phase: phase, freshness: $0) }
        .filter { answers[$0] != nil }
      let cells = looks.map { look in Subject.demands.map { told(answers[look]?[$0] ?? []) } }
      return cells.withoutRepetition.map { row in
        let fitting = zip(looks, cells).filter { $0.1 == row }.map(\.0.freshnessName)
        return [
          "`\(phase)`",
          fitting.count == TokenMachine.Freshness.allInOrder.count ? "any" : fitting.joined(separator: ", "),
        ] + row
      }
    }
  }

  /// The answers as one text; several if they depend on facts that the table does not show.
  private func told(_ answers: Set<[String]>) -> String {
    let refusals = answers.filter { $0.count == 1 && $0[0].hasPrefix("refuse ") }.map { $0[0].dropFirst(7) }.sorted()
    let others = answers.filter { $0.count != 1 || !$0[0].hasPrefix("refuse ") }.map { $0.joined(separator: ", ") }
    return (others.sorted() + (refusals.isEmpty ? [] : ["refuse " + refusals.joined(separator: ", ")]))
      .joined(separator: "; or ")
  }

  private func transitions(_ group: Input.Group) -> String {
    let inputs = steps.map(\.input).filter { $0.group == group }.withoutRepetition
    let rows = inputs.flatMap { input -> [[String]] in
      let arrows = steps.filter { $0.input == input }.map { Arrow(from: $0.from.phase, to: $0.to.phase) }
        .withoutRepetition
      let told = arrows.map { arrow -> (from: String, rest: [String]) in
        let of = steps.filter { $0.input == input && $0.from.phase == arrow.from && $0.to.phase == arrow.to }
        let variants = Labels.variants(of: input, from: arrow.from, to: arrow.to, in: steps) { $0.phase }
        let to = arrow.from == arrow.to ? "stays" : "`\(arrow.to)`"
        return (arrow.from, [to + (variants.isEmpty ? "" : " [\(variants)]"), Labels.joined(of.map(\.effects))])
      }
      let rests = told.map(\.rest).withoutRepetition
      return rests.map { rest in
        let from = told.filter { $0.rest == rest }.map { "`\($0.from)`" }
        return [input.text, from.joined(separator: " "), rest[0], rest[1]]
      }.filter { $0[2] != "stays" || $0[3] != "" }
    }
    return "### \(group.rawValue)\n\n" + table(["what", "in", "leads to", "then"], rows)
  }
}

extension Look {
  var freshnessName: String { freshness.rawValue }
}

extension TokenMachine.Freshness {
  static let allInOrder: [Self] = [.none, .fresh, .stale, .expired]
}

extension Sequence where Element: Hashable {
  /// The elements without repetitions, in the order of their first occurrence.
  var withoutRepetition: [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}
