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
      // Without known endpoints the sign-in reads the documents itself.
      guard origin != nil, error.isOfPage || error.reason == "redirected" else { return }
      guard hasLostItsDocuments(via: &agent) else { return }
      throw portal(at: origin ?? issuer)
    }
  }

  /// Other servers may send a page of theirs where no document is. So only a provider whose own documents are not there
  /// counts as one that something else answers for; one that is used without documents never does.
  private func hasLostItsDocuments(via agent: inout AgentConnection) -> Bool {
    let isLost = try? agent.call("provider.test", params: { $0.member("provider", request.provider) }) { result in
      result["findings"].map { $0.elements.map { Finding($0) } } ?? []
    }
    return isLost?.contains { $0.check == "providerReach" && $0.severity == .problem } ?? false
  }

  private func portal(at server: String) -> CommandFailure {
    CommandFailure(
      .providerUnreachable, name: "providerUnavailable",
      "What answers at \(server) is not the provider \(request.provider): it sends something else where the provider's documents were. The sign-in was not begun, and no page was opened.",
      hints: [
        "A sign-in page of your network may be in the way: open any page in a browser, then `\(request.command)`.",
        "`lanyard provider test \(request.provider)` says what answers and what does not.",
      ])
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
