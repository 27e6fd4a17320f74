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
  let transcript: Transcript
  let chunking: Chunking
  let transport: Transport
  /// Chooses the schedule of the agent's tasks, and its ids.
  let seed: UInt64
  let clockStart: Timestamp
  /// The agent's machine, from the first step that needs it.
  var machine: Machine?
  var bindings = Bindings()
  var wires: [String: TranscriptClient] = [:]
  /// New texts by line, in update mode; nil otherwise.
  var edits: Edits?
  var validator: ContractValidator
  let wakeSignal = WakeSignal()
  /// Lines that wait to be sent together.
  private var held: [(connection: String, bytes: [UInt8])] = []
  /// The line that is played.
  var place = 0

  public init(
    _ transcript: Transcript, contract: Contract, transport: Transport, chunking: Chunking, seed: UInt64 = 1,
    updating: Bool = false
  ) throws {
    self.transcript = transcript
    self.chunking = chunking
    validator = ContractValidator(contract: contract)
    self.transport = transport
    self.seed = seed
    edits = updating ? Edits() : nil
    clockStart = try transcript.start
    signal(SIGPIPE, SIG_IGN)
  }

  /// Plays to the end; throws at the first line that does not match. Returns the text with new expectations in update
  /// mode.
  @discardableResult
  public func play() throws -> String? {
    defer { finish() }
    var index = 0
    while index < transcript.steps.count {
      let step = transcript.steps[index]
      place = step.line
      do {
        switch step.action {
        case .send(let connection, let text):
          try send(Array(try bindings.expand(text).utf8) + [0x0A], on: connection, after: index)
          try writeDownAnswers(after: index)
        case .sendRaw(let connection, let bytes):
          try send(bytes, on: connection, after: index)
          try writeDownAnswers(after: index)
        case .expect, .expectRaw:
          try flush()
          index = try expectations(from: index)
          continue
        case .directive(let name, let arguments):
          try flush()
          try nothingUnasked()
          try direct(name, arguments)
          try settle()
        }
      } catch let problem as Unreadable {
        throw TranscriptProblem(transcript.name, line: step.line, problem.text)
      }
      index += 1
    }
    place = transcript.lines.count
    do {
      try flush()
      try nothingUnasked()
      for name in wires.keys.sorted() {
        let client = wires[name]!
        guard client.wire.hasEnded, !client.isHalfClosed, !client.isClosed, !client.closeWasExpected else { continue }
        throw Unreadable("the agent closed \(name) unasked")
      }
      try secretsAreNowhere()
    } catch let problem as Unreadable {
      throw TranscriptProblem(transcript.name, line: place - 1, problem.text)
    }
    return edits?.applied(to: transcript.lines)
  }

  private func finish() {
    for client in wires.values { client.close() }
    try? machine?.end { try? wait($0, until: $1) }
  }

  /// The open connection of this name.
  func client(_ name: String) throws -> TranscriptClient {
    guard let client = wires[name] else { throw Unreadable("there is no connection \(name); @open it first") }
    return client
  }

  // MARK: sending

  private func send(_ bytes: [UInt8], on connection: String, after index: Int) throws {
    // Lines after the last expectation are unexpected; between two sends they may answer the first.
    if index == 0 || !transcript.steps[index - 1].action.isSend { try nothingUnasked() }
    let client = try client(connection)
    validator.sent(bytes, on: connection)
    guard chunking == .coalesced else {
      for chunk in chunking.pieces(bytes) {
        client.wire.send(chunk)
        client.sent += chunk.count
        if chunking == .bytes { try wait("a byte to be taken") { client.hasTakenAll } }
      }
      return try settle()
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
      let client = try client(connection)
      client.wire.send(chunks[connection]!)
      client.sent += chunks[connection]!.count
    }
    try settle()
  }

  /// Fails if a secret of the transcript is in the log or readable on the disk.
  func secretsAreNowhere() throws {
    guard let machine else { return }
    let log = machine.log.everything
    let disk = Data(machine.world.disk.bytes())
    for (name, text) in bindings.secretTexts {
      if log.contains(text) { throw Unreadable("the log holds the secret \(name)") }
      if disk.range(of: Data(text.utf8)) != nil { throw Unreadable("the disk holds the secret \(name) in plain text") }
    }
  }
}
