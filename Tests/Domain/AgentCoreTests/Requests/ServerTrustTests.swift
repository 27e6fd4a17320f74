import AgentCore
import AgentModel
import JSONRPC
import Testing

@Suite struct ServerTrustTests {
  private let server = HTTPURL("https://api.example/a")!
  private let own = TrustSettings(authorities: CertificateAuthorities(file: "/own.pem"), proxy: "http://own.example:1")

  private func read<Value>(_ text: String, _ body: (JSONNode) -> Value) throws -> Value {
    let bytes = Array(text.utf8)
    return try bytes.withUnsafeBytes { bytes in
      var tape = JSONTape()
      try JSONScanner.scan(bytes, onto: &tape)
      return tape.withRoot(of: bytes, body)
    }
  }

  @Test func whatTheAgentNames_comesBeforeTheProgramsOwn() throws {
    let trust = try #require(
      try read(#"{"caFile":"/ca.pem","proxy":"http://proxy.example:1","noProxy":[]}"#) { ServerTrust($0) })
    let settings = trust.settings(for: server, elsewhere: own)
    #expect(settings.authorities.file == "/ca.pem")
    #expect(settings.proxy == "http://proxy.example:1")
    #expect(settings.noProxy == [])
  }

  @Test func whatTheAgentLeavesOut_isTheProgramsOwn() throws {
    let trust = try #require(try read(#"{"caDirectory":"/ca"}"#) { ServerTrust($0) })
    let settings = trust.settings(for: server, elsewhere: own)
    #expect(settings.authorities == CertificateAuthorities(directory: "/ca"))
    #expect(settings.proxy == "http://own.example:1")
  }

  @Test func pins_areThoseOfTheHost() throws {
    let trust = try #require(try read(#"{"pins":{"API.example":["sha256/a"]}}"#) { ServerTrust($0) })
    #expect(trust.settings(for: server).pins == ["sha256/a"])
    #expect(trust.settings(for: HTTPURL("https://other.example")!).pins == [])
  }

  @Test func statusThatNamesNothing_leavesAllToTheProgram() throws {
    let trust = try #require(try read("{}") { ServerTrust(inStatus: $0) })
    #expect(trust.settings(for: server, elsewhere: own) == own)
  }

  @Test(arguments: [
    "[]", #"{"caFile":1}"#, #"{"proxy":null}"#, #"{"noProxy":"*"}"#, #"{"noProxy":[1]}"#, #"{"pins":[]}"#,
    #"{"pins":{"a":[]}}"#,
  ])
  func answerOfAnotherKind_isNoTrust(text: String) throws {
    let (inProvider, inStatus) = (
      try read(text) { ServerTrust($0) }, try read("{\"trust\":\(text)}") { ServerTrust(inStatus: $0) }
    )
    #expect(inProvider == nil)
    #expect(inStatus == nil)
  }
}
