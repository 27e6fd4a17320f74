import AgentCore
import AgentModel
import Testing

/// Each row of each table, by a response that only this row decides: an edited row fails here, and a new one
/// without a story, too.
@Suite struct FailureTableTests {
  @Test(arguments: Story.all) func everyTableRow_classifiesItsStory(story: Story) throws {
    var reached: Set<FailureTable.Row> = []
    for line in story.lines {
      let row = try #require(story.table.row(for: line.answer), "\(line)")
      reached.insert(row)
      let table = story.table.name == "standard" ? nil : story.table
      #expect(FailureClassifier.classify(line.answer, table: table) == line.failure, "\(line)")
    }
    #expect(story.table.rows.filter { !reached.contains($0) } == [], "\(story.table.name): rows that no answer reaches")
  }

  @Test func everyPresetTable_hasStories() {
    #expect(Story.all.allSatisfy { !$0.table.rows.isEmpty })
    let tables = Set(ProviderPreset.all.compactMap(\.failures?.name) + [FailureTable.standard.name])
    #expect(Set(Story.all.map(\.table.name)) == tables)
  }

  /// The second of two rows with one sign would never match.
  @Test(arguments: Story.all) func everyTableRow_isReachedByItsOwnSign(story: Story) {
    let signs = story.table.rows.map(\.sign)
    #expect(Set(signs).count == signs.count)
    for row in story.table.rows {
      #expect(story.table.row(for: Self.answer(with: row.sign)) == row)
    }
  }

  /// A preset's table needs no row that says the same as the standard table.
  @Test(arguments: Story.all.filter { $0.table.name != "standard" })
  func presetRow_differsFromTheStandardTable(story: Story) {
    for row in story.table.rows {
      guard let standard = FailureTable.standard.row(for: Self.answer(with: row.sign)) else { continue }
      #expect((standard.meaning, standard.standardError) != (row.meaning, row.standardError), "\(row)")
    }
  }

  /// The smallest response that bears `sign`.
  private static func answer(with sign: FailureTable.Sign) -> TokenEndpointRefusal {
    switch sign {
    case .status(let statuses): TokenEndpointRefusal(status: statuses.lowerBound)
    case .code(let code): TokenEndpointRefusal(status: 400, codes: [code])
    case .description(let text), .phrase(let text): TokenEndpointRefusal(status: 400, description: text)
    case .suberror(let word): TokenEndpointRefusal(status: 400, suberror: word)
    case .claims(let error): TokenEndpointRefusal(status: 400, error: error, claims: "{}")
    case .error(let word): TokenEndpointRefusal(status: 400, error: word)
    case .contract(let code), .contractWord(let code): TokenEndpointRefusal(status: 401, codes: [code])
    }
  }
}

/// Responses as servers send them, and their meaning under a table.
struct Story: Sendable, CustomTestStringConvertible {
  let table: FailureTable
  let text: String
  var testDescription: String { table.name }

  init(_ table: FailureTable, _ text: String) {
    self.table = table
    self.text = text
  }

  var lines: [Line] { text.split(separator: "\n").map { Line(String($0)) } }

  /// `400 error=invalid_grant code=50057 -> locked`. Only the last field may contain spaces.
  struct Line: CustomStringConvertible {
    let description: String
    private(set) var answer: TokenEndpointRefusal
    private(set) var failure: ExchangeFailure

    init(_ text: String) {
      description = text
      let arrow = text.range(of: " -> ")
      let words = text[..<arrow.lowerBound].split(separator: " ", maxSplits: 1)
      answer = TokenEndpointRefusal(status: Int(words[0])!)
      var members = words.count > 1 ? String(words[1]) : ""
      while let equals = members.firstIndex(of: "=") {
        let name = members[..<equals]
        let rest = members[members.index(after: equals)...]
        let end = name == "description" ? rest.endIndex : rest.firstIndex(of: " ") ?? rest.endIndex
        let value = String(rest[..<end])
        switch name {
        case "error": answer.error = value
        case "suberror": answer.suberror = value
        case "code": answer.codes.append(value)
        case "description": answer.description = value
        case "claims": answer.claims = value
        default: preconditionFailure("no such member: \(name)")
        }
        members = String(rest[end...].drop { $0 == " " })
      }
      let meaning = text[arrow.upperBound...].split(separator: " ", maxSplits: 1).map(String.init)
      switch meaning[0] {
      case "throttled": failure = .transient("throttled", retryAfter: .seconds(60))
      case "transient": failure = .transient(meaning[1], retryAfter: nil)
      case "reauthenticate": failure = .reauthenticate(reason: meaning.count > 1 ? meaning[1] : "refused")
      case "locked": failure = .locked
      case "interaction": failure = .interaction(claims: meaning.count > 1 ? meaning[1] : nil)
      case "misconfigured": failure = .misconfigured(meaning[1])
      default: preconditionFailure("no such meaning: \(meaning[0])")
      }
    }
  }
}

extension String {
  /// The first occurrence of `part`.
  fileprivate func range(of part: String) -> Range<Index> {
    let start = indices.first { self[$0...].hasPrefix(part) }!
    return start..<index(start, offsetBy: part.count)
  }
}
