internal import AgentSimulation
internal import PracticeProvider

extension SimulatedWorld {
  /// Whether a script or a directive has added a provider of this name to the agent.
  func knows(_ provider: SimulatedProvider) async throws -> Bool {
    let client = try client()
    defer { client.disconnect() }
    return await client.call("provider.get", #"{"provider":"\#(provider.name)"}"#).error == nil
  }

  /// Adds a provider to the agent, with its refresh token rotation.
  func tell(of provider: SimulatedProvider) async throws {
    let client = try client()
    defer { client.disconnect() }
    let reuse =
      switch provider.idp.options.rotation {
      case .none, .renewed: #"{"reuse":"none"}"#
      case .grace(let seconds): #"{"reuse":"grace","graceSeconds":\#(seconds)}"#
      case .strict: #"{"reuse":"strict"}"#
      }
    let answer = await client.call(
      "provider.add",
      #"{"name":"\#(provider.name)","issuer":"\#(provider.idp.issuer)","clientId":"lanyard-demo","#
        + #""refresh":\#(reuse),"narrowing":"keeps"}"#)
    guard answer.error == nil else { throw Unreadable("provider.add: \(answer.line ?? "no answer")") }
  }
}
