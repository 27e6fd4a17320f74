import CommandSupport
import JSONRPC

/// The result of one check.
struct Finding {
  enum Severity: String {
    case ok, notice, problem

    var style: Style {
      switch self {
      case .ok: .good
      case .notice: .notice
      case .problem: .bad
      }
    }
  }

  var check: String
  var severity: Severity
  var subject: String?
  var account: String?
  var message: String
  var remedies: [String] = []

  init(
    _ severity: Severity, _ check: String, subject: String? = nil, _ message: String, remedies: [String] = []
  ) {
    self.check = check
    self.severity = severity
    self.subject = subject
    self.message = message
    self.remedies = remedies
  }

  /// From the agent's JSON.
  init(_ node: JSONNode) {
    check = node["check"]?.string ?? "agent"
    // A severity of a newer agent is shown as a notice.
    severity = node["severity"]?.string.flatMap { Severity(rawValue: $0) } ?? .notice
    subject = node["subject"]?.string
    account = node["account"]?.string
    message = CommandFailure.withoutChanges(node["message"]?.string ?? "")
    remedies = node["remedies"].map { $0.elements.compactMap(\.string) } ?? []
  }

  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("check", check)
    writer.member("severity", severity.rawValue)
    writer.member("subject", subject)
    writer.member("account", account)
    writer.member("message", message)
    writer.key("remedies")
    writer.beginArray()
    for remedy in remedies { writer.string(remedy) }
    writer.endArray()
    writer.endObject()
  }

  /// Prints the message and, below it, the remedies.
  func show() {
    let subject = subject.map { "\($0): " } ?? ""
    let first = severity.rawValue.padded(to: 9)
    for (index, line) in Self.lines(Text.shown(subject + CommandWords.translated(message)), first: first).enumerated() {
      Output.answer(index == 0 ? severity.style(first) + line.dropFirst(first.count) : line)
    }
    for remedy in remedies {
      let first = String(repeating: " ", count: 11)
      let lines = Self.lines(Text.shown(CommandWords.translated(remedy)), first: first + "- ")
      for (index, line) in lines.enumerated() {
        Output.answer(index == 0 ? first + Style.faint("- ") + line.dropFirst(first.count + 2) : line)
      }
    }
  }

  /// The text behind `first`; on a terminal, further lines begin below it.
  private static func lines(_ text: String, first: String) -> [String] {
    guard Terminal.showsAnswers else { return [first + text] }
    let margin = String(repeating: " ", count: first.count)
    return Text.lines(text, columns: Terminal.answerColumns, first: first, next: margin)
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(1, width - count))
  }
}
