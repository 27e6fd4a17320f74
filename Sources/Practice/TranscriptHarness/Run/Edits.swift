/// The changes of update mode to a script: expectations only.
struct Edits {
  private var replaced: [Int: String] = [:]
  private var removed: Set<Int> = []
  private var inserted: [Int: [String]] = [:]

  mutating func replace(_ line: Int, with text: String) { replaced[line] = text }
  mutating func remove(_ line: Int) { removed.insert(line) }
  mutating func insert(_ text: String, before line: Int) { inserted[line, default: []].append(text) }

  func applied(to lines: [String]) -> String {
    var result: [String] = []
    for (number, line) in lines.enumerated() {
      result += inserted[number] ?? []
      if !removed.contains(number) { result.append(replaced[number] ?? line) }
    }
    result += inserted[lines.count] ?? []
    return result.joined(separator: "\n") + "\n"
  }
}
