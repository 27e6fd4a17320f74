internal import AgentModel
internal import AgentPorts
internal import AgentSimulation
internal import Foundation
internal import Glibc
internal import JSONRPC
public import SchemaKit
internal import StorageFaults

/// Plays one transcript on one transport and reports the first line that does not match.
///
/// Nothing waits for a fixed time: the player knows when the agent has read everything sent, no task of the agent can
/// continue, and every answer has arrived. Only `@advance` moves the clock.
public final class Player {
  private let transcript: Transcript
  private let chunking: Chunking
  let playback: Playback
  let stage: Stage
  let expectations: Expectations
  /// Lines that wait to be sent together.
  private var held: [(connection: String, bytes: [UInt8])] = []

  public init(
    _ transcript: Transcript, contract: Contract, transport: Transport, chunking: Chunking, seed: UInt64 = 1,
    updating: Bool = false
  ) throws {
    self.transcript = transcript
    self.chunking = chunking
    playback = Playback(updating: updating)
    stage = Stage(transport: transport, seed: seed, clockStart: try transcript.start)
    expectations = Expectations(of: transcript, contract: contract, on: stage, playback)
    signal(SIGPIPE, SIG_IGN)
  }

  /// Plays to the end; throws at the first line that does not match. Returns the text with new expectations in update
  /// mode.
  @discardableResult
  public func play() throws -> String? {
    defer { stage.end() }
    var index = 0
    while index < transcript.steps.count {
      let step = transcript.steps[index]
      playback.place = step.line
      do {
        switch step.action {
        case .send(let connection, let text):
          try send(Array(try playback.bindings.expand(text).utf8) + [0x0A], on: connection, after: index)
          try expectations.writeDownAnswers(after: index)
        case .sendRaw(let connection, let bytes):
          try send(bytes, on: connection, after: index)
          try expectations.writeDownAnswers(after: index)
        case .expect, .expectRaw:
          try flush()
          index = try expectations.match(from: index)
          continue
        case .directive(let name, let arguments):
          try flush()
          try expectations.nothingUnasked()
          try direct(name, arguments)
          try stage.settle()
        }
      } catch let problem as Unreadable {
        throw TranscriptProblem(transcript.name, line: step.line, problem.text)
      }
      index += 1
    }
    playback.place = transcript.lines.count
    do {
      try flush()
      try expectations.nothingUnasked()
      for name in stage.clients.keys.sorted() {
        let client = stage.clients[name]!
        guard client.wire.hasEnded, !client.isHalfClosed, !client.isClosed, !client.closeWasExpected else { continue }
        throw Unreadable("the agent closed \(name) unasked")
      }
      try secretsAreNowhere()
    } catch let problem as Unreadable {
      throw TranscriptProblem(transcript.name, line: playback.place - 1, problem.text)
    }
    return playback.edits?.applied(to: transcript.lines)
  }

  // MARK: sending

  private func send(_ bytes: [UInt8], on connection: String, after index: Int) throws {
    // Lines after the last expectation are unexpected; between two sends they may answer the first.
    if index == 0 || !transcript.steps[index - 1].action.isSend { try expectations.nothingUnasked() }
    let client = try stage.client(connection)
    expectations.validator.sent(bytes, on: connection)
    guard chunking == .coalesced else {
      for chunk in chunking.pieces(bytes) {
        client.wire.send(chunk)
        client.sent += chunk.count
        if chunking == .bytes { try stage.wait("a byte to be taken") { client.hasTakenAll } }
      }
      return try stage.settle()
    }
    held.append((connection, bytes))
  }

  /// Sends the collected lines, in one chunk for each connection.
  private func flush() throws {
    guard !held.isEmpty else { return }
    var order: [String] = []
    var chunks: [String: [UInt8]] = [:]
    for (connection, bytes) in held {
      if chunks[connection] == nil { order.append(connection) }
      chunks[connection, default: []] += bytes
    }
    held = []
    for connection in order {
      let client = try stage.client(connection)
      client.wire.send(chunks[connection]!)
      client.sent += chunks[connection]!.count
    }
    try stage.settle()
  }

  /// Fails if a secret of the transcript is in the log or readable on the disk.
  func secretsAreNowhere() throws {
    guard let machine = stage.machine else { return }
    let log = machine.log.everything
    let disk = Data(machine.world.disk.bytes())
    for (name, text) in playback.bindings.secretTexts {
      if log.contains(text) { throw Unreadable("the log holds the secret \(name)") }
      if disk.range(of: Data(text.utf8)) != nil { throw Unreadable("the disk holds the secret \(name) in plain text") }
    }
  }
}
