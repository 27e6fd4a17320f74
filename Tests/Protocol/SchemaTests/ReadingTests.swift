import AgentModel
import AgentProtocol
import JSONRPC
import SchemaKit
import Secrets
import Testing

/// The generated Swift parses params as the schemas say.
struct ReadingTests {
  @Test func everyMethod_hasGeneratedSwift() {
    #expect(EveryMethod.types.map { $0.info.name } == RepositoryFixture.contract.methods.map(\.name))
    #expect(MethodTable.all.map(\.name) == RepositoryFixture.contract.methods.map(\.name).sorted())
    #expect(MethodTable.byName.count == MethodTable.all.count)
    #expect(AgentContract.schemaDigest == RepositoryFixture.contract.digest)
  }

  @Test func everyExample_isParsed() throws {
    for type in EveryMethod.types {
      for example in RepositoryFixture.contract.method(type.info.name)!.examples {
        #expect(try EveryMethod.problem(type, params: example.params.compact) == nil, "\(type.info.name)")
      }
    }
  }

  /// Each example is spoiled in every way that the schemas allow, one at a time: the generated reader and the schema
  /// validator, which share no code, must agree on the verdict and the place.
  @Test func generatedReader_agreesWithTheSchemaValidator() throws {
    var spoiledCount = 0
    for type in EveryMethod.types {
      let method = RepositoryFixture.contract.method(type.info.name)!
      for example in method.examples {
        for params in Spoiling.variants(of: example.params, by: method.params) {
          spoiledCount += 1
          let expected = RepositoryFixture.contract.validate(params, against: method.params)
          let found = try EveryMethod.problem(type, params: params.compact)
          #expect((found == nil) == expected.isEmpty, "\(method.name) \(params.compact) \(expected)")
          if let found {
            #expect(
              expected.map(\.pointer).contains(found.path), "\(method.name) \(params.compact): \(found) \(expected)")
          }
        }
      }
    }
    #expect(spoiledCount > 1000)
  }

  @Test(arguments: [
    ("[]", "", "object"), (#""work""#, "", "object"), ("{}", "/account", "string"),
    (#"{"account":null}"#, "/account", "string of 1 to 128 characters"),
    (#"{"account":""}"#, "/account", "string of 1 to 128 characters"),
    (#"{"account":"work","minimumLifetimeSeconds":-1}"#, "/minimumLifetimeSeconds", "integer from 0 to 31536000"),
    (#"{"account":"work","minimumLifetimeSeconds":1.5}"#, "/minimumLifetimeSeconds", "integer from 0 to 31536000"),
    (#"{"account":"work","minimumLifetimeSeconds":"60"}"#, "/minimumLifetimeSeconds", "integer from 0 to 31536000"),
    (#"{"account":"work","scopes":"openid"}"#, "/scopes", "array of 0 to 128 items"),
    (#"{"account":"work","scopes":["openid","two words"]}"#, "/scopes/1", #"string like ^[!#-\[\]-~]{1,256}$"#),
    (#"{"account":"work","scopes":null}"#, "/scopes", "array of 0 to 128 items"),
    (#"{"account":"work","force":true}"#, "/force", "member of params"),
    (#"{"account":"work","a/b~c":1}"#, "/a~1b~0c", "member of params"),
  ])
  func paramsProblem_namesPathAndExpectation(_ params: String, _ path: String, _ expected: String) throws {
    let problem = try #require(try EveryMethod.problem(TokenGet.self, params: params))
    #expect(problem == ParamsProblem(path: path, expected: expected))
  }

  @Test func unknownEnumWord_isReportedWithTheKnownWords() throws {
    let problem = try EveryMethod.problem(AccountSignOut.self, params: #"{"account":"work","mode":"gentle"}"#)
    #expect(problem == ParamsProblem(path: "/mode", expected: "one of soft, hard, offline"))
  }

  @Test func unknownMemberName_isCutInTheProblem() throws {
    let name = String(repeating: "é", count: 500)
    let problem = try EveryMethod.problem(AgentLock.self, params: #"{"\#(name)":1}"#)
    #expect(problem?.path == "/" + String(repeating: "é", count: 63))
  }

  @Test func paramsProblem_neverEchoesValues() throws {
    let params = #"{"account":"work","pin":{"not-a-real-pin":"not-a-real-pin"}}"#
    let problem = try #require(try EveryMethod.problem(StepUpVerify.self, params: params))
    #expect(problem.path == "/pin")
    #expect(!problem.expected.contains("not-a-real-pin"))
  }

  private func read<Method: RPCMethod>(_ method: Method.Type, _ params: String) throws -> Method.Params {
    var tape = JSONTape()
    return try [UInt8](params.utf8).withUnsafeBytes { bytes in
      try JSONScanner.scan(bytes, onto: &tape)
      return try tape.withRoot(of: bytes) { try Method.Params(from: $0) }
    }
  }

  @Test func missingParams_getTheirDefaults() throws {
    #expect(try read(TokenGet.self, #"{"account":"work"}"#).minimumLifetimeSeconds == 60)
    #expect(try read(AccountSignOut.self, #"{"account":"work","mode":"soft"}"#).revocationTimeoutSeconds == 3)
    #expect(try read(RequestSend.self, #"{"account":"work","method":"GET","url":"https://a"}"#).allowAuthRetry)
    #expect(throws: Never.self) { try AgentStatus.Params.none() }
    #expect(throws: ParamsProblem(path: "/account", expected: "string")) { try TokenGet.Params.none() }
  }

  @Test func accountSelector_isParsed() throws {
    #expect(try read(AccountGet.self, #"{"account":"@active"}"#).account == .active)
    #expect(try read(AccountGet.self, #"{"account":"w\u006frk"}"#).account == .alias("work"))
  }

  @Test func escapedParams_areUnescapedBeforeValidation() throws {
    #expect(try read(AccountRename.self, #"{"account":"work","alias":"acm\u0065"}"#).alias.text == "acme")
    #expect(throws: ParamsProblem.self) { try read(AccountRename.self, #"{"account":"work","alias":"a\u0020b"}"#) }
  }

  @Test func secretParam_isReadIntoGuardedMemory() throws {
    let params = try read(SignInImport.self, #"{"provider":"idp","refreshToken":"not-a-real-\"token\""}"#)
    #expect(params.refreshToken.withBytes { String(decoding: $0, as: UTF8.self) } == "not-a-real-\"token\"")
  }

  @Test func paramLengths_areCountedInCodePoints() throws {
    let fits = String(repeating: "é", count: 128)
    #expect(try read(AccountGet.self, #"{"account":"\#(fits)"}"#).account == .alias(fits))
    #expect(throws: ParamsProblem.self) { try read(AccountGet.self, #"{"account":"\#(fits)é"}"#) }
  }

  @Test(arguments: ["2030-02-30T00:00:00.000Z", "2030-13-01T00:00:00.000Z", "2030-01-01T24:00:00.000Z"])
  func instantOutsideTheCalendar_isRefused(_ text: String) throws {
    let params = #"{"account":"work","capability":"a","at":"\#(text)"}"#
    #expect(try EveryMethod.problem(PolicyExplain.self, params: params)?.path == "/at")
  }

  @Test func freeFormJSONParam_isKeptByteForByte() throws {
    let params = try read(
      OperationEnqueue.self, #"{"account":"work","capability":"a","payload":{"n":1.50,"x":[ ]}}"#)
    #expect(params.payload?.withBytes { String(decoding: $0, as: UTF8.self) } == #"{"n":1.50,"x":[ ]}"#)
  }

  @Test func requestWithTwoBodies_isRefused() throws {
    let params = #"{"account":"work","method":"GET","url":"https://a","body":"","bodyBase64":""}"#
    #expect(try EveryMethod.problem(RequestSend.self, params: params)?.path == "/bodyBase64")
  }
}
