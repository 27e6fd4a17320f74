import AgentModel
import CommandSupport
import JSONRPC

/// Asks the server of a provider's sign-in page before a person is sent there: a browser would say only that a page can't
/// be loaded, and the sign-in would wait for ten minutes.
struct ReachableProvider {
  let request: SignIn.SignInRequest

  /// A provider that has not answered by then would not show a page in a time that a person waits for.
  private static let patienceMilliseconds: Int32 = 15_000

  /// - Throws: a failure if the server can't be reached, does not answer or can't be trusted. One that answers anything is
  ///   there: what the sign-in needs of it, the sign-in says.
  func require(via agent: inout AgentConnection) throws(CommandFailure) {
    let settings = try? agent.call("provider.get", params: { $0.member("provider", request.provider) }) { result in
      let provider = result["provider"] ?? result
      return (
        issuer: provider["issuer"]?.string, page: provider["endpoints"]?["authorization"]?.string,
        authorities: provider["caFile"]?.string, proxy: provider["proxy"]?.string
      )
    }
    // An unknown provider is the failure of the sign-in itself.
    guard let settings, let issuer = settings.issuer else { return }
    // While no endpoint is known, the sign-in needs the issuer's documents.
    let origin = settings.page.flatMap { HTTPURL($0)?.origin }
    let patience = agent.patienceMilliseconds
    agent.patienceMilliseconds = Self.patienceMilliseconds
    agent.waitsFor = request.provider
    defer {
      agent.patienceMilliseconds = patience
      agent.waitsFor = nil
    }
    do throws(CommandFailure) {
      try agent.perform("provider.discover") { writer in
        writer.member("url", origin ?? issuer)
        // Without it the agent asks no server of a known provider that has no documents.
        if origin != nil { writer.member("exact", true) }
        writer.member("caFile", settings.authorities)
        writer.member("proxy", settings.proxy)
      }
    } catch {
      if let told = failure(error, of: origin ?? issuer) { throw told }
    }
  }

  /// Nil if the server answered.
  private func failure(_ error: CommandFailure, of server: String) -> CommandFailure? {
    var told = error
    let what: String
    switch error.name {
    case "untrustedServer",
      "offline" where error.isOfThisSide:
      told.message = "The sign-in was not begun. \(CommandFailure.withoutChanges(error.message))"
      return told
    case "offline": what = "can't be reached"
    case "providerUnavailable" where error.reason == "noAnswer": what = "does not answer"
    case "agentSilent":
      told = CommandFailure(.providerUnreachable, name: "providerUnavailable", "")
      what = "does not answer"
    default: return nil
    }
    told.message =
      "The provider \(request.provider) (\(server)) \(what). The sign-in was not begun, and no page was opened."
    told.hints = [
      "Check the network and the address, or try again later: `\(request.command)`.",
      "`lanyard provider test \(request.provider)` says what answers and what does not.",
    ]
    return told
  }
}
