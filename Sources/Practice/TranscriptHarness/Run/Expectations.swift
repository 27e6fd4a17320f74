internal import JSONRPC
internal import SchemaKit

/// The expectations of a transcript: matches received lines, or writes them down in update mode.
final class Expectations {
  private let transcript: Transcript
  private let stage: Stage
  private let playback: Playback
  var validator: ContractValidator

  init(of transcript: Transcript, contract: Contract, on stage: Stage, _ playback: Playback) {
    (self.transcript, self.stage, self.playback) = (transcript, stage, playback)
    validator = ContractValidator(contract: contract)
  }

  /// Matches the group of consecutive expectations; returns the step after them.
  func match(from start: Int) throws -> Int {
    var index = start
    while index < transcript.steps.count {
      let step = transcript.steps[index]
      playback.place = step.line
      switch step.action {
      case .expectRaw(let connection, let bytes):
        try expectRaw(bytes, on: connection)
        index += 1
      case .expect(let connection, let expectation) where expectation.isUnordered:
        var group: [(line: Int, expectation: Transcript.Expectation)] = []
        while index < transcript.steps.count, case .expect(connection, let next) = transcript.steps[index].action,
          next.isUnordered
        {
          group.append((transcript.steps[index].line, next))
          index += 1
        }
        try expect(group, on: connection)
      case .expect(let connection, let expectation):
        try expect([(step.line, expectation)], on: connection)
        index += 1
      default: return index
      }
    }
    return index
  }

  private func expectRaw(_ bytes: [UInt8], on connection: String) throws {
    let client = try stage.client(connection)
    guard !client.lines.isEmpty else { throw Unreadable("nothing came") }
    let line = client.lines.removeFirst()
    try judged(line, on: connection)
    guard line + [0x0A] == bytes || line == bytes else {
      guard playback.edits != nil else {
        throw Unreadable("expected other bytes; got\n  \(RawText.quoted(line + [0x0A]))")
      }
      playback.edits?.replace(playback.place, with: "\(connection)<raw \(RawText.quoted(line + [0x0A]))")
      return
    }
  }

  /// Each received line must match one expectation of the group; a group of one is an ordinary expectation.
  private func expect(_ group: [(line: Int, expectation: Transcript.Expectation)], on connection: String) throws {
    let client = try stage.client(connection)
    var open = group
    while !open.isEmpty {
      guard !client.lines.isEmpty else {
        guard playback.edits != nil else {
          throw TranscriptProblem(transcript.name, line: open[0].line, "nothing came")
        }
        for (line, _) in open { playback.edits?.remove(line) }
        return
      }
      let bytes = client.lines.removeFirst()
      let value = try judged(bytes, on: connection)
      var misfits: [String] = []
      let found = open.indices.first { index in
        let expectation = open[index].expectation
        switch Matcher.match(expectation.pattern, value, isSubset: expectation.isSubset, bindings: playback.bindings) {
        case .success(let new):
          playback.bindings = new
          return true
        case .failure(let misfit):
          misfits.append(misfit.problems.map(\.description).joined(separator: "\n  "))
          return false
        }
      }
      if let found {
        open.remove(at: found)
      } else if playback.edits != nil {
        let (line, expectation) = open.removeFirst()
        let text = Rewriting(bindings: playback.bindings).text(
          of: expectation.pattern, value, isSubset: expectation.isSubset)
        playback.edits?.replace(line, with: connection + "<" + expectation.marks + " " + text)
        rebind(text, value, isSubset: expectation.isSubset)
      } else {
        throw TranscriptProblem(
          transcript.name, line: open[0].line, "the line does not fit\n  " + misfits.joined(separator: "\n  or "))
      }
    }
  }

  /// Values bound by the rewritten expectation are known to the rest of the script.
  private func rebind(_ text: String, _ value: JSONValue, isSubset: Bool) {
    guard let pattern = try? Pattern(parsing: text),
      case .success(let new) = Matcher.match(pattern, value, isSubset: isSubset, bindings: playback.bindings)
    else { return }
    playback.bindings = new
  }

  @discardableResult
  private func judged(_ line: [UInt8], on connection: String) throws -> JSONValue {
    let text = String(decoding: line, as: UTF8.self)
    guard let value = try? JSONValue(parsing: line) else { throw Unreadable("the agent sent no JSON: \(text)") }
    let problems = validator.received(value, on: connection)
    guard problems.isEmpty else {
      throw Unreadable(
        "the agent broke its contract: \(problems.map(\.description).joined(separator: "; "))\n  in \(text)")
    }
    return value
  }

  /// In update mode, inserts the answers of consecutive requests below them, if they have no expectation yet.
  func writeDownAnswers(after index: Int) throws {
    guard playback.edits != nil else { return }
    let next = transcript.steps[(index + 1)...]
    let sendsToCome = next.prefix { $0.action.isSend }.count
    let expected = next.dropFirst(sendsToCome).prefix { $0.action.isExpectation }.count
    guard expected <= sendsToCome else { return }
    playback.place += 1
    try nothingUnasked()
  }

  /// Fails if a connection got a line that no expectation matched.
  func nothingUnasked() throws {
    for name in stage.clients.keys.sorted() {
      let client = stage.clients[name]!
      while !client.lines.isEmpty {
        let line = client.lines.removeFirst()
        let value = try judged(line, on: name)
        guard playback.edits != nil else {
          throw Unreadable("\(name) got an unexpected line:\n  \(String(decoding: line, as: UTF8.self))")
        }
        let text = Rewriting(bindings: playback.bindings).text(of: nil, value, isSubset: false)
        playback.edits?.insert("\(name)< \(text)", before: playback.place)
        rebind(text, value, isSubset: false)
      }
      if !client.partial.isEmpty { throw Unreadable("\(name) got a line without an end") }
    }
  }
}

extension Transcript.Expectation {
  var marks: String { (isSubset ? "~" : "") + (isUnordered ? "*" : "") }
}
