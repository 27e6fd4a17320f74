import AgentCore
import AgentModel
import AgentPorts
import Secrets
import Testing

import AgentOAuth

struct ProviderRefusalsTests {
  private let idp = ProviderName("idp")!

  @Test("A provider's text is cleaned: no control characters, quotes or long words, at most 200 characters")
  func text_isCleaned() {
    #expect(ProviderRefusals.cleaned("Client\u{1B}[31m \"app\" is\nunknown\\n") == "Client [31m app is unknown n")
    #expect(ProviderRefusals.cleaned("Token rt_hwapkpDDoC-yIzrL4G_ysPKpMpKsy3B4 is used") == "Token ... is used")
    #expect(ProviderRefusals.cleaned("ünbekannt 山") == "nbekannt")
    let long = ProviderRefusals.cleaned(String(repeating: "word ", count: 100))
    #expect(long.count == 200)
    #expect(long.hasPrefix("word word ") && long.hasSuffix("…"))
    #expect(
      ProviderRefusals.cleaned(String(repeating: "a b ", count: 50)) == String(repeating: "a b ", count: 50).dropLast())
  }

  @Test("A short client secret that the provider repeats is hidden with the text around it")
  func clientSecret_isHidden() {
    let secret = Secret(text: "hunter2")
    #expect(ProviderRefusals.cleaned("The secret 'hunter2' is wrong", hiding: secret) == "...")
    #expect(ProviderRefusals.cleaned("hunter2", hiding: secret) == "...")
    #expect(ProviderRefusals.cleaned("hunter", hiding: secret) == "hunter")
    #expect(ProviderRefusals.cleaned("", hiding: secret) == "")
    #expect(ProviderRefusals.cleaned("Wrong", hiding: Secret(text: "")) == "Wrong")
  }

  @Test("The last refusal of a provider is kept until the provider gives a token")
  func lastRefusal_isKept() {
    let refusals = ProviderRefusals(log: SilentLog())
    refusals.record(TokenEndpointRefusal(status: 400, error: "invalid_scope"), from: idp)
    refusals.record(TokenEndpointRefusal(status: 401, error: "invalid_client", description: "Wrong secret"), from: idp)
    #expect(
      refusals.all == [.init(provider: idp, status: 401, error: "invalid_client", description: "Wrong secret")])
    refusals.forget(idp)
    #expect(refusals.all.isEmpty)
  }

  @Test(
    "A step of a flow and an answer without an error are no refusals", arguments: ["slow_down", "use_dpop_nonce", nil])
  func step_isNoRefusal(error: String?) {
    let refusals = ProviderRefusals(log: SilentLog())
    refusals.record(TokenEndpointRefusal(status: 400, error: error), from: idp)
    #expect(refusals.all.isEmpty)
  }
}
