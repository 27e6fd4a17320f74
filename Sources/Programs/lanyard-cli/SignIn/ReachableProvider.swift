import CommandSupport
import JSONRPC

/// Asks a provider for its documents before a person is sent to its page: a browser would say only that a page can't be
/// loaded, and the sign-in would wait for ten minutes.
struct ReachableProvider {
  let name: String

  /// A provider that has not answered by then would not show a page in a time that a person waits for.
  private static let patienceMilliseconds: Int32 = 15_000

  /// - Throws: a failure if the provider can't be reached, does not answer or can't be trusted. A provider without
  ///   documents is there, too.
  func require(via agent: inout AgentConnection) throws(CommandFailure) {
    let settings = try? agent.call("provider.get", params: { $0.member("provider", name) }) { result in
      let provider = result["provider"] ?? result
      return (
        issuer: provider["issuer"]?.string, authorities: provider["caFile"]?.string, proxy: provider["proxy"]?.string
      )
    }
    // An unknown provider is the failure of the sign-in itself.
    guard let settings, let issuer = settings.issuer else { return }
    let patience = agent.patienceMilliseconds
    agent.patienceMilliseconds = Self.patienceMilliseconds
    agent.waitsFor = name
    defer {
      agent.patienceMilliseconds = patience
      agent.waitsFor = nil
    }
    do throws(CommandFailure) {
      try agent.perform("provider.discover") { writer in
        writer.member("url", issuer)
        writer.member("caFile", settings.authorities)
        writer.member("proxy", settings.proxy)
      }
    } catch {
      var told = error
      switch error.name {
      case "offline", "providerUnavailable": break
      case "untrustedServer":
        told.message = "The sign-in was not begun. \(CommandFailure.withoutChanges(error.message))"
        throw told
      case "agentSilent": told = CommandFailure(.providerUnreachable, name: "providerUnavailable", "")
      default: return
      }
      let what = error.name == "offline" ? "can't be reached" : "does not answer"
      told.message = "The provider \(name) (\(issuer)) \(what). The sign-in was not begun, and no page was opened."
      told.hints = [
        "Check the network and the address, or try again later: `lanyard login \(name)`.",
        "`lanyard provider test \(name)` says what answers and what does not.",
      ]
      throw told
    }
  }
}
