/// A transition of a machine, as its diagram shows it.
struct Transition: Hashable {
  var from: String
  var input: String
  /// A condition of the transition that the diagram does not show as a state; empty if it has none.
  var variant = ""
  var to: String
  var effects: [String] = []
}

/// The transitions that a walk found, in their order, as a diagram and a table.
struct Transitions {
  /// The variant of a run that nothing has overtaken.
  static let usual = "counts"

  private(set) var all: [Transition] = []
  private var known: Set<Transition> = []

  mutating func add(_ transition: Transition) {
    if known.insert(transition).inserted { all.append(transition) }
  }

  /// The lines of a `stateDiagram-v2`. `outside` is drawn as the point at which the machine's life begins and ends.
  func diagram(outside: String) -> [String] {
    let arrows = all.filter { $0.from != $0.to }.map { Arrow(from: $0.from, to: $0.to) }.withoutRepetition
    return arrows.map { arrow in
      let inputs = all.filter { $0.from == arrow.from && $0.to == arrow.to }.map(\.input).withoutRepetition
      let texts = inputs.map { input in
        let variants = variants(of: input, arrow)
        return input + (variants.isEmpty ? "" : " [\(variants)]")
      }
      let (from, to) = (arrow.from == outside ? "[*]" : arrow.from, arrow.to == outside ? "[*]" : arrow.to)
      return "\(from) --> \(to) : \(broken(texts))"
    }
  }

  /// All states, in the order in which the walk reached them.
  var states: [String] { all.flatMap { [$0.from, $0.to] }.withoutRepetition }

  /// `| in | what | leads to | then |`, by state.
  var table: String {
    let inOrder = states.flatMap { state in all.filter { $0.from == state } }
    let keys = inOrder.map { Row(arrow: Arrow(from: $0.from, to: $0.to), input: $0.input) }.withoutRepetition
    let rows = keys.compactMap { key -> [String]? in
      let cases = all.filter { $0.from == key.arrow.from && $0.to == key.arrow.to && $0.input == key.input }
      let then = Labels.joined(cases.map(\.effects))
      let variants = variants(of: key.input, key.arrow)
      if key.arrow.from == key.arrow.to, then.isEmpty { return nil }
      let to = key.arrow.from == key.arrow.to ? "stays" : "`\(key.arrow.to)`"
      return ["`\(key.arrow.from)`", key.input + (variants.isEmpty ? "" : " [\(variants)]"), to, then]
    }
    return Self.table(["in", "what", "leads to", "then"], rows)
  }

  static func table(_ head: [String], _ rows: [[String]]) -> String {
    ([head, head.map { _ in "---" }] + rows).map { "| " + $0.joined(separator: " | ") + " |" }.joined(separator: "\n")
  }

  /// The variants in which this input leads from one state to the other; empty if all variants with this input do.
  private func variants(of input: String, _ arrow: Arrow) -> String {
    let leaving = all.filter { $0.from == arrow.from && $0.input == input }
    let going = leaving.filter { $0.to == arrow.to }.map(\.variant).withoutRepetition
    let rest = Set(leaving.map(\.variant)).subtracting(going)
    if rest.isEmpty { return "" }
    if rest == [Self.usual], going.count > 1 { return "otherwise" }
    return going.sorted().joined(separator: ", ")
  }

  private func broken(_ texts: [String]) -> String {
    stride(from: 0, to: texts.count, by: 3).map { texts[$0..<min($0 + 3, texts.count)].joined(separator: ", ") }
      .joined(separator: ",<br/>")
  }

  private struct Arrow: Hashable {
    var from: String
    var to: String
  }

  private struct Row: Hashable {
    var arrow: Arrow
    var input: String
  }
}
