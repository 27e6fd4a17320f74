import AgentModel
import AuditExport
import Testing

/// `ExportCursor`, `CursorCheck` and `ExportItem`.
@Suite struct CursorTests {
  @Test func missingSequences_areCountedInAnItemOfTheirOwn() {
    let entries = [1, 2, 5, 6, 9].map { ExportEntry.numbered($0, at: $0 * 1000) }
    let items = ExportItem.items(after: 0, entries)
    #expect(
      items == [
        .entry(entries[0]), .entry(entries[1]), .dropped(first: 3, last: 4, at: entries[2].at), .entry(entries[2]),
        .entry(entries[3]), .dropped(first: 7, last: 8, at: entries[4].at), .entry(entries[4]),
      ])
    #expect(items.map(\.sequence) == [1, 2, 4, 5, 6, 8, 9])
    var cursor = ExportCursor()
    cursor.advance(over: items)
    #expect(cursor.sequence == 9)
    #expect(cursor.exported == 5)
    #expect(cursor.dropped == 4)
    #expect(ExportItem.items(after: 9, entries).isEmpty)
    #expect(ExportItem.items(after: 5, entries).first == .entry(entries[3]))
  }

  @Test func partOfAPage_isGoneOnFromWithoutCountingTwice() {
    let entries = [1, 4, 5].map { ExportEntry.numbered($0) }
    var cursor = ExportCursor()
    cursor.advance(over: ExportItem.items(after: 0, entries).prefix(2))  // entry 1, and 2 to 3 as dropped
    #expect((cursor.sequence, cursor.dropped) == (3, 2))
    cursor.advance(over: ExportItem.items(after: cursor.sequence, Array(entries.dropFirst())))
    #expect((cursor.sequence, cursor.dropped, cursor.exported) == (5, 2, 3))
  }

  @Test func cursor_isReadAsItWasWritten() throws {
    var cursor = ExportCursor()
    cursor.advance(over: (1...300).map { .entry(.numbered($0)) })
    cursor.refuse(2)
    cursor.exportedAt = "2030-01-01T00:00:00.000Z"
    let read = try #require(ExportCursor(json: cursor.json))
    #expect(read == cursor)
    #expect((read.exported, read.refused) == (298, 2))
  }

  @Test(arguments: ["", "{}", "null", "[1]", #"{"version":2}"#, "\u{0}\u{0}"])
  func anotherFile_isNoCursor(text: String) { #expect(ExportCursor(json: Array(text.utf8)) == nil) }

  @Test func everyCutCursor_isNoCursor() {
    var cursor = ExportCursor()
    cursor.advance(over: [.entry(.numbered(1)), .entry(.numbered(2))])
    let json = cursor.json
    // The last byte is the newline.
    for count in 0..<(json.count - 1) { #expect(ExportCursor(json: Array(json.prefix(count))) == nil) }
  }

  @Test func checkpoints_stayFewAndCloseToWhereALogMayFork() {
    var cursor = ExportCursor()
    for start in stride(from: Int64(1), to: 40_000, by: 100) {
      cursor.advance(over: (start..<start + 100).map { .entry(.numbered($0)) })
      #expect(cursor.checkpoints.count <= ExportCursor.mostCheckpoints)
    }
    for distance in [Int64(1), 10, 100, 1_000, 3_333, 10_000, 33_333] {
      let fork = cursor.sequence - distance
      let nearest = cursor.checkpoints.last { $0.sequence <= fork }
      #expect(nearest.map { cursor.sequence - $0.sequence <= 4 * distance + 1_000 } == true, "\(distance)")
    }
    #expect(cursor.json.count < 16 << 10)
  }

  /// Answers the questions of a check from a log.
  private func verdict(_ cursor: ExportCursor, _ log: [ExportEntry]) -> CursorCheck.Verdict {
    var check = CursorCheck(cursor)
    while let question = check.question {
      let verdict = check.take(log.first { $0.sequence > question })
      if verdict != .unknown { return verdict }
    }
    return .same
  }

  @Test func sameLog_alsoLongerOrWithoutItsOldest_isTheSame() {
    let log = (1...100).map { ExportEntry.numbered(Int64($0), at: Int64($0)) }
    var cursor = ExportCursor()
    #expect(verdict(cursor, log) == .same)
    cursor.advance(over: ExportItem.items(after: 0, Array(log.prefix(60))))
    #expect(verdict(cursor, log) == .same)
    #expect(verdict(cursor, Array(log.prefix(60))) == .same)
    #expect(verdict(cursor, Array(log.dropFirst(80))) == .same)
  }

  @Test(arguments: [1, 5, 30, 59])
  func olderCopyOfTheLog_isFoundAndGoneOnFromAnEntryThatBothHave(common: Int) throws {
    let log = (1...60).map { ExportEntry.numbered(Int64($0), at: Int64($0)) }
    var cursor = ExportCursor()
    cursor.advance(over: ExportItem.items(after: 0, log))
    let forked = log.prefix(common) + (common + 1...common + 100).map { .numbered(Int64($0), at: Int64($0) + 7) }
    for other in [Array(log.prefix(common)), Array(forked)] {
      guard case .wentBack(let checkpoint) = verdict(cursor, other) else {
        Issue.record("not found: \(common)")
        continue
      }
      #expect(checkpoint?.sequence ?? 0 <= Int64(common))
      var next = cursor
      next.goBack(to: checkpoint)
      #expect(next.log == 2)
      #expect(next.sequence == checkpoint?.sequence ?? 0)
      #expect(verdict(next, other) == .same)
    }
  }

  @Test func newLog_isExportedFromItsBeginning() {
    var cursor = ExportCursor()
    cursor.advance(over: (1...60).map { .entry(.numbered($0, at: 5)) })
    #expect(verdict(cursor, []) == .wentBack(to: nil))
    #expect(verdict(cursor, (1...90).map { .numbered($0, at: 6) }) == .wentBack(to: nil))
  }
}

/// `ReadPace` and `RetryPause`.
@Suite struct PaceTests {
  @Test func firstReadings_arePrompt_andThenOneAMinute() {
    var (pace, now, readings) = (ReadPace(), BootInstant(milliseconds: 1_000_000), 0)
    let start = now
    while now - start < .seconds(3600) {
      now = max(now, pace.next(at: now))
      pace.read(at: now)
      readings += 1
    }
    #expect((119...122).contains(readings))
    #expect(pace.next(at: now + .seconds(3600)) == now + .seconds(3600))
  }

  @Test func pauses_growToAMinute_areSpread_andRespectTheCollector() {
    #expect(RetryPause.after(failures: 1, jitter: 0) == Milliseconds(500))
    #expect(RetryPause.after(failures: 1, jitter: 1) == .seconds(1))
    #expect(RetryPause.after(failures: 60, jitter: 1) == .seconds(60))
    #expect(RetryPause.after(failures: 1, jitter: 0, asked: .seconds(120)) == .seconds(120))
    #expect(RetryPause.after(failures: 1, jitter: 1, asked: .seconds(120)) == .seconds(150))
  }
}
