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
      (#"{"limits":[]}"#, false), (#"{"policySource":{}}"#, false), (#"{"policySource":[]}"#, false),
      (
        #"{"policySource":{"url":"https://p.example/b","publicKey":"RWQ8i/3M2pN0R/PZpihWpux6jEc48kx1qdfymrlIkrgnWVzNMUoLy27A"}}"#,
        true
      ),
      (
        #"{"policySource":{"url":"https://p.example/b","publicKey":"RWQ8i/3M2pN0R/PZpihWpux6jEc48kx1qdfymrlIkrgnWVzNMUoLy27A","intervalSeconds":0}}"#,
        false
      ),
      (
        #"{"policySource":{"url":"https://p.example/b","publicKey":"RWQ8i/3M2pN0R/PZpihWpux6jEc48kx1qdfymrlIkrgnWVzNMUoLy27A","x":1}}"#,
        false
      ),
    ])
  func schemaAndReader_agree(text: String, isValid: Bool) throws {
    let document = try JSONValue(parsing: Array(text.utf8))
    #expect(RepositoryFixture.contract.problems(inConfiguration: document).isEmpty == isValid)
    #expect(((try? AgentConfiguration(parsing: Array(text.utf8))) != nil) == isValid)
  }

  @Test(
    arguments: [
      (#"{"version":1,"policies":[]}"#, true), (#"{"version":1,"policies":[],"rollouts":[],"description":"x"}"#, true),
      (#"{"version":1}"#, false), (#"{"policies":[]}"#, false), (#"{"version":0,"policies":[]}"#, false),
      (#"{"version":1,"policies":{}}"#, false), (#"{"version":1,"policies":[1]}"#, false), ("[]", false),
      (#"{"version":1,"policies":[],"shadow":true}"#, false), (#"{"version":1,"policies":[],"rollouts":[{}]}"#, false),
      (
        #"{"version":1,"policies":[],"rollouts":[{"policy":{"name":"a","version":1,"capabilities":{}},"percentage":1,"key":"k"}]}"#,
        true
      ),
      (
        #"{"version":1,"policies":[],"rollouts":[{"policy":{"name":"a","version":1,"capabilities":{}},"percentage":101,"key":"k"}]}"#,
        false
      ),
      (
        #"{"version":1,"policies":[],"rollouts":[{"policy":{"name":"a","version":1,"capabilities":{}},"percentage":1,"key":"k","shadow":1}]}"#,
        false
      ),
    ])
  func bundleSchemaAndReader_agree(text: String, isValid: Bool) throws {
    let document = try JSONValue(parsing: Array(text.utf8))
    #expect(RepositoryFixture.contract.problems(inBundle: document).isEmpty == isValid)
    #expect(((try? PolicyBundle(parsing: Array(text.utf8))) != nil) == isValid)
  }
}
