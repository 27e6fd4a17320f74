internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import Secrets

/// The open redirect URIs of the sign-ins that wait for a browser. Sign-ins whose providers configure the same address
/// share one listener: `state` tells which of them an answer is for (RFC 6749 §4.1.2).
struct RedirectListeners {
  private struct Entry {
    let redirect: ProviderConfiguration.Redirect
    let listener: any RedirectListener
    var signIns: Set<String>
  }

  /// By the sign-in that opened the listener; it stays open until the last one has left.
  private var entries: [String: Entry] = [:]
  /// The hashes of the states of sign-ins that have left, newest last: no state stays in memory.
  private var endedStates: [Int] = []

  /// Earlier answers that are recognised: as many as the ended sign-ins that `SignInCoordinator` remembers.
  private static let remembered = 64

  /// The redirect URI of a sign-in, at a listener that is open already or is opened now. `onRequest` gets the
  /// listener's name, for `signIns(at:)`, and the query; `onRefusal` the name and why a request was refused.
  mutating func open(
    _ redirect: ProviderConfiguration.Redirect, for id: String, by factory: any RedirectListenerFactory,
    onRequest: @escaping @Sendable (_ listener: String, _ query: Secret) async -> RedirectPage,
    onRefusal: @escaping @Sendable (_ listener: String, RedirectRefusal) -> Void
  ) throws(RedirectFailure) -> String {
    if redirect.port != nil, let shared = entries.first(where: { $0.value.redirect == redirect }) {
      entries[shared.key]?.signIns.insert(id)
      return shared.value.listener.redirectURI
    }
    let listener = try factory.listen(
      host: redirect.host, port: redirect.port, path: redirect.path,
      onRequest: { query in await onRequest(id, query) }, onRefusal: { onRefusal(id, $0) })
    entries[id] = Entry(redirect: redirect, listener: listener, signIns: [id])
    return listener.redirectURI
  }

  /// The sign-in has ended, or was never begun: it takes no answer any more. `state`: that of its request.
  mutating func leave(_ id: String, state: String? = nil) {
    guard let name = entries.first(where: { $0.value.signIns.contains(id) })?.key else { return }
    if let state { endedStates = endedStates.suffix(Self.remembered - 1) + [state.hashValue] }
    entries[name]?.signIns.remove(id)
    guard entries[name]?.signIns.isEmpty == true else { return }
    entries.removeValue(forKey: name)?.listener.stop()
  }

  /// The sign-ins that wait at a listener.
  func signIns(at listener: String) -> [String] { entries[listener]?.signIns.sorted() ?? [] }

  /// True if the answer is one to a sign-in that has left: a page that was loaded again, or that came too late.
  func isOfEndedSignIn(_ query: Secret) -> Bool {
    SecretQuery(query)?.text("state").map { endedStates.contains($0.hashValue) } ?? false
  }
}
