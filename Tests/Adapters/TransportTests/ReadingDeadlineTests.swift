import AgentModel
import Testing

import UnixTransport

/// A client that holds memory of all clients' answers must read.
@Suite struct ReadingDeadlineTests {
  private func at(_ milliseconds: Int64) -> BootInstant { BootInstant(milliseconds: milliseconds) }

  @Test func deadlineMoves_onlyWhenTheClientReads() {
    var clients = ServedClients()
    clients.noteReading(true, hasRead: false, of: 3, deadline: at(60))
    clients.noteReading(true, hasRead: false, of: 3, deadline: at(80))
    #expect(clients.earliestDeadline == at(60) && clients.hasDeadlines)
    #expect(clients.unread(at(59)).isEmpty && clients.unread(at(60)) == [3])
    clients.noteReading(true, hasRead: true, of: 3, deadline: at(100))
    #expect(clients.unread(at(60)).isEmpty && clients.earliestDeadline == at(100))
  }

  @Test func clientThatHoldsNothingAnyMore_hasNoDeadline() {
    var clients = ServedClients()
    clients.noteReading(true, hasRead: false, of: 3, deadline: at(60))
    clients.noteReading(true, hasRead: false, of: 4, deadline: at(70))
    clients.noteReading(false, hasRead: true, of: 3, deadline: at(90))
    #expect(clients.earliestDeadline == at(70) && clients.unread(at(1000)) == [4])
    clients.noteReading(false, hasRead: false, of: 4, deadline: at(90))
    #expect(!clients.hasDeadlines && clients.earliestDeadline == nil)
  }
}
