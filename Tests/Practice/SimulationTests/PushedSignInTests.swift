import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Sign-ins with pushed authorization requests (RFC 9126).
@Suite struct PushedSignInTests {
  private static let options: PracticeOptions = {
    var options = Scene.options
    options.pushedAuthorization = .required
    return options
  }()

  @Test func pushedParameters_areNotInTheBrowsersURL() throws {
    try scenario { world in
      let provider = try await world.provider(
        "idp", options: Self.options, more: #","resources":["https://mail.example/"]"#)
      let begun = try await world.client().call("signIn.begin", #"{"provider":"idp","flow":"browser"}"#)
      let url = try #require(begun["authorizationUrl"])
      for parameter in ["state", "nonce", "redirect_uri", "scope", "code_challenge", "resource", "response_type"] {
        #expect(!url.contains("\(parameter)="), "\(url)")
      }
      _ = await world.browser.visit(try provider.idp.authorize(url: url, as: "alice"))
      let ended = try await world.client().call("signIn.wait", #"{"signIn":"\#(begun["signIn"] ?? "")"}"#)
      #expect(ended["status"] == "completed", "\(ended)")
    }
  }

  @Test(arguments: [
    Fault.error("invalid_request"), Fault.error("invalid_client", status: 401), Fault.status(503), Fault(.notJSON),
    Fault(.dropAfterProcessing), Fault(.hangBeforeProcessing), Fault(.endlessBody),
    Fault(.changeAnswer(["request_uri": .null])), Fault(.changeAnswer(["request_uri": "two words\n"])),
    Fault(.changeAnswer(["request_uri": 7])), Fault.status(404),
  ]) func failedPush_leavesNothingBehind(fault: Fault) throws {
    try scenario { world in
      let provider = try await world.provider("idp", options: Self.options)
      for flow in ["browser", "paste"] {
        provider.idp.enqueueFault("/par", fault)
        let begun = try await world.client().call("signIn.begin", #"{"provider":"idp","flow":"\#(flow)"}"#)
        #expect(begun.code == 3002 || begun.code == 3003, "\(begun)")
        #expect(world.browser.listening.isEmpty)
      }
      // No failed sign-in holds a place.
      for _ in 0..<16 {
        let begun = try await world.client().call("signIn.begin", #"{"provider":"idp","flow":"browser"}"#)
        #expect(begun.error == nil, "\(begun)")
      }
    }
  }

  @Test func clientLeavingDuringThePush_leavesNothingBehind() throws {
    try scenario { world in
      let provider = try await world.provider("idp", options: Self.options)
      provider.idp.enqueueFault("/par", Fault(.hangBeforeProcessing))
      let client = try world.client()
      async let begun = client.call("signIn.begin", #"{"provider":"idp","flow":"browser"}"#)
      await world.clock.sleep(for: .seconds(1))
      #expect(world.browser.listening.count == 1)
      client.disconnect()
      _ = await begun
      await world.clock.sleep(for: .seconds(60))
      #expect(world.browser.listening.isEmpty)
      #expect(provider.idp.requestCount(to: "/par") == 1)
    }
  }
}
