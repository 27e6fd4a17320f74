import AgentCore
import SchemaKit
import Testing

/// `agent.schema.json` and the agent's reader refuse the same files.
@Suite struct ConfigurationSchemaTests {
  @Test(
    arguments: [
      ("{}", true), (#"{"caFile":"/etc/ca.pem","proxy":"none"}"#, true), (#"{"lockAfterSeconds":900}"#, true),
      (#"{"lockOn":["sleep","screen"]}"#, true), (#"{"limits":{"connections":8,"requestsInFlight":1}}"#, true),
      (#"{"clientIdMetadataDocument":"https://pat.example/a"}"#, true), (#"{"clientIdMetadataDocument":""}"#, false),
      ("[]", false), (#"{"cafile":"/a"}"#, false), (#"{"caFile":1}"#, false), (#"{"proxy":""}"#, false),
      (#"{"lockAfterSeconds":0}"#, false), (#"{"lockAfterSeconds":"900"}"#, false), (#"{"lockOn":["lid"]}"#, false),
      (#"{"lockOn":"sleep"}"#, false), (#"{"limits":{"connections":7}}"#, false), (#"{"limits":{"x":1}}"#, false),
      (#"{"limits":[]}"#, false), (#"{"audit":{}}"#, true), (#"{"audit":{"names":1}}"#, false),
      (#"{"audit":{"names":true,"export":[{"to":"journald"},{"to":"syslog","socket":"/dev/log"}]}}"#, true),
      (#"{"audit":{"export":[{"to":"otlp","url":"https://logs.example"}]}}"#, true),
      (#"{"audit":{"export":[{"to":"mail"}]}}"#, false), (#"{"audit":{"export":[{"to":"syslog","name":"A"}]}}"#, false),
      (#"{"audit":{"export":{"to":"syslog"}}}"#, false), (#"{"audit":{"export":[{"name":"a"}]}}"#, false),
    ])
  func schemaAndReader_agree(text: String, isValid: Bool) throws {
    let document = try JSONValue(parsing: Array(text.utf8))
    #expect(RepositoryFixture.contract.configuration != nil)
    #expect(RepositoryFixture.contract.problems(inConfiguration: document).isEmpty == isValid)
    #expect(((try? AgentConfiguration(parsing: Array(text.utf8))) != nil) == isValid)
  }
}
