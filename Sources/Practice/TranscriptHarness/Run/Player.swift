internal import AgentModel
internal import AgentPorts
internal import AgentSimulation
internal import Foundation
internal import Glibc
internal import JSONRPC
public import SchemaKit
internal import StorageFaults

/// The division of sent bytes into writes.
public enum Chunking: String, CaseIterable, Sendable {
  /// One line at a time.
  case whole
  /// One byte at a time.
  case bytes
  /// All consecutive lines of a script at once.
  case coalesced
}

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
  var wires: [String: Client] = [:]
  /// New texts by line, in update mode; nil otherwise.
  var edits: Edits?
  var validator: ContractValidator
  let wakeSignal = WakeSignal()
  /// Lines that wait to be sent together.
  private var held: [(connection: String, bytes: [UInt8])] = []
  private var place = 0

  /// The time that the player waits for results that need no virtual time: enough for a busy machine.
  private static let patienceSeconds = 30.0

  /// One client, and its received lines that were not expected yet.
  final class Client {
    let wire: any Wire
    var sent = 0
    var got = 0
    var partial: [UInt8] = []
    var lines: [[UInt8]] = []
    var isHalfClosed = false
    var isClosed = false
    var closeWasExpected = false
    init(_ wire: any Wire) { self.wire = wire }
  }

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

  // MARK: sending

  private func send(_ bytes: [UInt8], on connection: String, after index: Int) throws {
    // Lines after the last expectation are unexpected; between two sends they may answer the first.
    if index == 0 || !transcript.steps[index - 1].action.isSend { try nothingUnasked() }
    let client = try client(connection)
    validator.sent(bytes, on: connection)
    guard chunking == .coalesced else {
      for chunk in pieces(bytes) {
        client.wire.send(chunk)
        client.sent += chunk.count
        if chunking == .bytes { try wait("a byte to be taken") { client.hasTakenAll } }
      }
      return try settle()
    }
    held.append((connection, bytes))
  }

  private func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
    guard chunking == .bytes else { return [bytes] }
    // The middle of a very long text is sent in larger pieces of an odd size.
    let edge = 1500
    guard bytes.count > 2 * edge else { return bytes.map { [$0] } }
    let middle = Array(bytes[edge..<(bytes.count - edge)])
    let large = stride(from: 0, to: middle.count, by: 4093).map { Array(middle[$0..<min($0 + 4093, middle.count)]) }
    return bytes.prefix(edge).map { [$0] } + large + bytes.suffix(edge).map { [$0] }
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

  // MARK: expecting

  /// Matches the group of consecutive expectations; returns the step after them.
  private func expectations(from start: Int) throws -> Int {
    var index = start
    while index < transcript.steps.count {
      let step = transcript.steps[index]
      place = step.line
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
    let client = try client(connection)
    guard !client.lines.isEmpty else { throw Unreadable("nothing came") }
    let line = client.lines.removeFirst()
    try judged(line, on: connection)
    guard line + [0x0A] == bytes || line == bytes else {
      guard edits != nil else { throw Unreadable("expected other bytes; got\n  \(RawText.quoted(line + [0x0A]))") }
      edits?.replace(place, with: "\(connection)<raw \(RawText.quoted(line + [0x0A]))")
      return
    }
  }

  /// Each received line must match one expectation of the group; a group of one is an ordinary expectation.
  private func expect(_ group: [(line: Int, expectation: Transcript.Expectation)], on connection: String) throws {
    let client = try client(connection)
    var open = group
    while !open.isEmpty {
      guard !client.lines.isEmpty else {
        guard edits != nil else {
          throw TranscriptProblem(transcript.name, line: open[0].line, "nothing came")
        }
        for (line, _) in open { edits?.remove(line) }
        return
      }
      let bytes = client.lines.removeFirst()
      let value = try judged(bytes, on: connection)
      var misfits: [String] = []
      let found = open.indices.first { index in
        let expectation = open[index].expectation
        switch Matcher.match(expectation.pattern, value, isSubset: expectation.isSubset, bindings: bindings) {
        case .success(let new):
          bindings = new
          return true
        case .failure(let misfit):
          misfits.append(misfit.problems.map(\.description).joined(separator: "\n  "))
          return false
        }
      }
      if let found {
        open.remove(at: found)
      } else if edits != nil {
        let (line, expectation) = open.removeFirst()
        let text = Rewriting(bindings: bindings).text(of: expectation.pattern, value, isSubset: expectation.isSubset)
        edits?.replace(line, with: connection + "<" + expectation.marks + " " + text)
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
      case .success(let new) = Matcher.match(pattern, value, isSubset: isSubset, bindings: bindings)
    else { return }
    bindings = new
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
  private func writeDownAnswers(after index: Int) throws {
    guard edits != nil else { return }
    let next = transcript.steps[(index + 1)...]
    let sendsToCome = next.prefix { $0.action.isSend }.count
    let expected = next.dropFirst(sendsToCome).prefix { $0.action.isExpectation }.count
    guard expected <= sendsToCome else { return }
    place += 1
    try nothingUnasked()
  }

  func nothingUnasked() throws {
    for name in wires.keys.sorted() {
      let client = wires[name]!
      while !client.lines.isEmpty {
        let line = client.lines.removeFirst()
        let value = try judged(line, on: name)
        guard edits != nil else {
          throw Unreadable("\(name) got an unexpected line:\n  \(String(decoding: line, as: UTF8.self))")
        }
        let text = Rewriting(bindings: bindings).text(of: nil, value, isSubset: false)
        edits?.insert("\(name)< \(text)", before: place)
        rebind(text, value, isSubset: false)
      }
      if !client.partial.isEmpty { throw Unreadable("\(name) got a line without an end") }
    }
  }

  func replacePlace(with text: String) { edits?.replace(place, with: text) }

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

  // MARK: waiting

  func client(_ name: String) throws -> Client {
    guard let client = wires[name] else { throw Unreadable("there is no connection \(name); @open it first") }
    return client
  }

  /// Waits until everything that needs no virtual time has happened.
  func settle() throws {
    try wait("all to be quiet") { self.isQuiet }
  }

  private var isQuiet: Bool {
    // In this order: input is read before it starts tasks, and tasks end before their output is counted.
    let clients = wires.values.filter { !$0.isClosed }
    guard clients.allSatisfy({ $0.hasTakenAll }) else { return false }
    machine?.world.settle()
    for client in clients { client.read() }
    return clients.allSatisfy { $0.hasReceivedAll }
  }

  /// Checks `condition` whenever something moved, until it holds.
  func wait(_ what: String, until condition: () -> Bool) throws {
    let deadline = ProcessInfo.processInfo.systemUptime + Self.patienceSeconds
    while true {
      wakeSignal.clear()
      machine?.world.settle()
      machine?.stopTransportIfShutDown()
      for client in wires.values { client.read() }
      if condition() { return }
      guard ProcessInfo.processInfo.systemUptime < deadline else {
        throw Unreadable("waited \(Int(Self.patienceSeconds)) s for \(what)")
      }
      var ready = [pollfd(fd: wakeSignal.descriptor, events: Int16(POLLIN), revents: 0)]
      ready += wires.values.map { pollfd(fd: $0.isClosed ? -1 : $0.wire.descriptor, events: Int16(POLLIN), revents: 0) }
      _ = poll(&ready, nfds_t(ready.count), 1000)
    }
  }

}

extension Player.Client {
  func close() {
    isClosed = true
    wire.close()
  }

  /// Reads what has arrived, and splits it into lines.
  func read() {
    guard !isClosed else { return }
    let bytes = wire.receive()
    got += bytes.count
    guard !bytes.isEmpty else { return }
    partial += bytes
    var rest = partial[...]
    while let end = rest.firstIndex(of: 0x0A) {
      lines.append(Array(rest[..<end]))
      rest = rest[(end + 1)...]
    }
    partial = Array(rest)
  }

  var hasTakenAll: Bool {
    guard let counts = wire.tap?.counts else { return true }
    if counts.isClosing || counts.isOver { return true }
    return counts.taken == sent && (!isHalfClosed || counts.hasSeenEnd)
  }

  var hasReceivedAll: Bool {
    guard let counts = wire.tap?.counts else { return wire.hasEnded }
    return counts.given == got && (!counts.isClosing || wire.hasEnded)
  }
}

extension Transcript.Action {
  var isSend: Bool {
    switch self {
    case .send, .sendRaw: true
    default: false
    }
  }
}

extension Transcript.Action {
  var isExpectation: Bool {
    switch self {
    case .expect, .expectRaw: true
    default: false
    }
  }
}

extension Transcript.Expectation {
  var marks: String { (isSubset ? "~" : "") + (isUnordered ? "*" : "") }
}
