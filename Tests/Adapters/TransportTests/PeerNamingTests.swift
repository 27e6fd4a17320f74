import Testing
import UnixTransport

@Suite struct PeerNamingTests {
  @Test("the audit log has one name for both files of the command line")
  func commandLine_hasOneName() {
    #expect(ProcessNames.shown(Array("lanyard\n".utf8)) == "lanyard")
    #expect(ProcessNames.shown(Array("lanyard-cli\n".utf8)) == "lanyard")
    #expect(ProcessNames.shown(Array("lanyard-proxy\n".utf8)) == "lanyard-proxy")
    #expect(ProcessNames.shown(Array("python3\n".utf8)) == "python3")
  }
}
