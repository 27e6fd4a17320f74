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
    message = node["message"]?.string ?? ""
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
    let line = severity.rawValue.padded(to: 9) + Text.shown(subject + CommandWords.translated(message))
    Output.answer(severity.style(String(line.prefix(9))) + line.dropFirst(9))
    for remedy in remedies {
      Output.answer("           " + Style.faint("- ") + Text.shown(CommandWords.translated(remedy)))
    }
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(1, width - count))
  }
}
