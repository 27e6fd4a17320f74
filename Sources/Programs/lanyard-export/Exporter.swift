internal import AgentModel
internal import AuditExport
internal import CPlatform
internal import CommandSupport
internal import Glibc
internal import Secrets

/// Serves one destination on one thread: reads the log in pages, sends them in order, stores the cursor after each batch.
///
/// The log itself is the buffer: while a collector is down, nothing is read. A page is all that is in memory.
final class Exporter: @unchecked Sendable {
  // `@unchecked Sendable`: made on one thread, and used on another from then on.
  private let destination: AuditDestination
  private let once: Bool
  private let directory: ExportDirectory
  private let ending: Ending
  private let reader: LogReader
  private let watch: NewsWatch
  private let key: SealingKey
  private let agentID: String
  private let lock: Int32

  private var cursor: ExportCursor
  private var pace = ReadPace()
  private var failures = 0
  private var trouble: String?

  /// - Throws: a failure if another process serves this destination, or its files can't be used.
  init(
    _ destination: AuditDestination, _ options: Options, _ directory: ExportDirectory, _ ending: Ending
  ) throws(CommandFailure) {
    self.destination = destination
    self.directory = directory
    self.ending = ending
    once = options.once
    lock = try directory.lock(destination.name)
    key = try directory.key()
    agentID = "agt_" + Base32.encode(key.digest("agent", []).prefix(12))
    cursor = try directory.cursor(destination.name) ?? ExportCursor()
    reader = LogReader(mayStart: options.mayStart)
    watch = NewsWatch(state: directory.state, ending)
  }

  deinit { close(lock) }

  /// Returns when the program ends or, with `--once`, at the end of the log.
  func run() throws(CommandFailure) {
    while !ending.hasBegun {
      do throws(CommandFailure) {
        try follow()
        return
      } catch {
        if once || error.status == .usage { throw error }
        // A locked vault is no failure of anything: an event tells when it is open again.
        try waitOut(error)
      }
    }
  }

  private func waitOut(_ error: CommandFailure) throws(CommandFailure) {
    tell(error.message)
    guard error.status == .locked, reader.isConnected else {
      failures += 1
      reader.close()
      return pause(nil)
    }
    watch.clear()
    do throws(CommandFailure) {
      try reader.wait(milliseconds: 60_000, orReadable: watch.descriptor)
    } catch { return }
    // A locked store may be written to, as by other exporters' files.
    ending.pause(milliseconds: 1000)
  }

  /// With one connection to the agent: after another one, the store may be another one.
  private func follow() throws(CommandFailure) {
    let names = try reader.begin().names ?? false
    try? reader.subscribe()
    let host = names ? Self.hostName : nil
    let key = self.key
    let disclosure = Disclosure(names: names, agent: agentID) { name in
      "nam_" + Base32.encode(key.digest("name", Array(name.utf8)).prefix(12))
    }
    let collector = try collector(host)
    let sending = Sending(collector, disclosure, names: names)
    try check(sending)
    while !ending.hasBegun {
      watch.clear()
      let entries = try reader.entries(after: cursor.sequence)
      guard !entries.isEmpty else {
        settle()
        pace.read(at: Moment.boot)
        if once { return }
        lanyard_give_back_pages()
        try reader.wait(milliseconds: watch.longestMilliseconds, orReadable: watch.descriptor)
        ending.pause(milliseconds: (pace.next(at: Moment.boot) - Moment.boot).count)
        continue
      }
      settle()
      try deliver(ExportItem.items(after: cursor.sequence, entries), sending)
    }
  }

  private static var hostName: String? {
    var bytes = [CChar](repeating: 0, count: 256)
    guard gethostname(&bytes, bytes.count - 1) == 0, bytes[0] != 0 else { return nil }
    return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private func collector(_ host: String?) throws(CommandFailure) -> any Collector {
    switch destination.kind {
    case .journald, .syslog:
      let path = destination.socket ?? AuditDestination.usualSocket(of: destination.kind)!
      return DatagramCollector(path: path, isJournal: destination.kind == .journald, host: host)
    case .otlp:
      return try OTLPCollector(destination, agent: agentID, host: host, reader: reader)
    }
  }

  /// How records are made and sent on this connection.
  private final class Sending {
    let collector: any Collector
    let disclosure: Disclosure
    let names: Bool
    var accounts: [String: AccountNames] = [:]

    init(_ collector: any Collector, _ disclosure: Disclosure, names: Bool) {
      self.collector = collector
      self.disclosure = disclosure
      self.names = names
    }
  }

  // MARK: the log

  /// Finds out whether the log is the one that was exported, and says so to the collector if it is not.
  private func check(_ sending: Sending) throws(CommandFailure) {
    var check = CursorCheck(cursor)
    while let question = check.question {
      switch check.take(try reader.entries(after: question, limit: 1).first) {
      case .unknown: continue
      case .same: return
      case .wentBack(let checkpoint):
        var next = cursor
        next.goBack(to: checkpoint)
        Output.warning(
          "The agent's log no longer has what was exported up to entry \(cursor.sequence). "
            + "The export goes on after entry \(next.sequence), as log \(next.log).")
        let item = ExportItem.wentBack(from: cursor.sequence, after: next.sequence, at: Moment.wall)
        let record = sending.disclosure.record(item, log: next.log) { _ in nil }
        while !ending.hasBegun {
          let delivery = sending.collector.send([record])
          if delivery.taken > 0 { break }
          try fail(delivery.trouble)
        }
        if ending.hasBegun { return }
        next.exportedAt = Moment.wall.rfc3339
        cursor = next
        return try store()
      }
    }
  }

  /// Sends items until the collector has all of them, or the program ends.
  private func deliver(_ items: [ExportItem], _ sending: Sending) throws(CommandFailure) {
    if sending.names, items.contains(where: { $0.account.map { sending.accounts[$0] == nil } ?? false }) {
      sending.accounts = try reader.accounts()
    }
    var rest = items[...]
    while !rest.isEmpty, !ending.hasBegun {
      let batch = rest.prefix(sending.collector.most)
      let records = batch.map { item in
        sending.disclosure.record(item, log: cursor.log) { sending.names ? sending.accounts[$0] : nil }
      }
      let delivery = sending.collector.send(records)
      if delivery.taken > 0 {
        let taken = rest.prefix(delivery.taken)
        rest = rest.dropFirst(delivery.taken)
        var next = cursor
        next.advance(over: taken)
        next.refuse(delivery.refused)
        next.exportedAt = Moment.wall.rfc3339
        cursor = next
        try store()
      }
      if delivery.trouble != nil { try fail(delivery.trouble) }
    }
  }

  /// Stores the cursor. Until it is on the disk nothing more is sent: a kill repeats one batch and no more.
  private func store() throws(CommandFailure) {
    while let problem = directory.store(cursor, destination.name) {
      if once { throw CommandFailure(.other, name: "system", problem) }
      try fail(Trouble(problem))
      if ending.hasBegun { return }
    }
    settle()
  }

  // MARK: troubles

  private func fail(_ found: Trouble?) throws(CommandFailure) {
    guard let found else { return }
    // A token was asked for in vain: connect again first.
    guard reader.isConnected else { throw LogReader.notConnected }
    if once { throw CommandFailure(found.status, name: "collector", found.text) }
    failures += 1
    tell(found.text)
    pause(found.asked)
  }

  private func pause(_ asked: Milliseconds?) {
    let until = Moment.boot + RetryPause.after(failures: failures, jitter: Moment.jitter(), asked: asked)
    while !ending.hasBegun {
      let left = (until - Moment.boot).count
      guard left > 0 else { return }
      // The agent keeps no events for a client that reads none. A connection that ends here is made again later.
      guard reader.isConnected else { return ending.pause(milliseconds: left) }
      try? reader.wait(milliseconds: left, orReadable: ending.descriptor)
    }
  }

  /// Tells a trouble once, not at each attempt.
  private func tell(_ text: String) {
    guard text != trouble else { return }
    trouble = text
    Output.warning("\(destination.name): \(Text.shown(text)) The export waits; the log keeps what is not exported.")
    directory.note(Text.shown(text), destination.name)
  }

  private func settle() {
    failures = 0
    guard trouble != nil else { return }
    trouble = nil
    Output.note("lanyard: \(destination.name): The export goes on.")
    directory.note(nil, destination.name)
  }
}

extension ExportItem {
  /// The account of an entry.
  fileprivate var account: String? { if case .entry(let entry) = self { entry.account } else { nil } }
}
