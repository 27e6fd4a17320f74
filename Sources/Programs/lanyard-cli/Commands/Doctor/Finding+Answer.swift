import CommandSupport
import JSONRPC

extension Finding {
  /// Prints the findings with a line that sums them up. Ends the program with 1 if there is a problem.
  static func answer(_ findings: [Finding], json: Bool) throws {
    print(findings, json: json)
    try OtherAnswer.end(with: findings.contains { $0.severity == .problem } ? .other : .success)
  }

  private static func print(_ findings: [Finding], json: Bool) {
    let (problems, notices) = (findings.count { $0.severity == .problem }, findings.count { $0.severity == .notice })
    guard !json else {
      var writer = JSONWriter(capacity: 4096)
      writer.beginObject()
      writer.member("ok", problems == 0)
      writer.key("findings")
      writer.beginArray()
      for finding in findings { finding.write(to: &writer) }
      writer.endArray()
      writer.endObject()
      return writer.withBytes { Output.answer(json: $0) }
    }
    for finding in findings { finding.show() }
    // Without its keys the vault, and what is in it, was not looked at.
    let isWhole = !findings.contains { $0.check == "vault" && $0.severity == .notice }
    let sound = isWhole ? "All is well" : "No problem was found in what could be checked"
    let noticed = notices == 0 ? "" : ", \(Counted.text(Int64(notices), "notice"))"
    Output.answer("")
    Output.answer(
      problems == 0
        ? (isWhole ? Style.good : .notice)(sound) + "\(noticed)."
        : Style.bad(Counted.text(Int64(problems), "problem")) + "\(noticed).")
  }
}
