/// A page for the person.
package enum WebPage: String, CaseIterable, Sendable {
  case accounts, activity, approvals, programs, waiting, policies, health

  /// Its address, such as `/accounts`.
  package var path: String { "/" + rawValue }

  /// Its name, in its heading and in the navigation.
  package var title: String { Words.sentence(rawValue) }

  /// The pages that show something else after an event of the agent. Every page has the number of decisions that wait, the
  /// names of accounts, the network and the lock.
  package static func changes(event type: String) -> Set<WebPage> {
    switch type {
    case "token.refreshed": [.accounts, .health]
    case "token.scopesNarrowed", "stepUp.granted", "stepUp.expired", "signIn.requested": []
    case "snapshot.changed": [.accounts, .policies]
    case "account.expiring", "session.stateChanged", "session.expired": [.accounts, .activity, .policies, .health]
    case "clock.suspect": [.accounts, .policies, .health]
    case "revocation.confirmed", "revocation.abandoned", "operation.statusChanged": [.waiting, .activity]
    case "policy.changed": [.policies, .activity]
    // What every page shows in its frame, and what is not known here.
    default: Set(allCases)
    }
  }
}
