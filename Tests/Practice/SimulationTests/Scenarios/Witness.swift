import AgentSimulation
import PracticeProvider
import Testing

/// A client that has subscribed to everything, and what it heard.
struct Witness: Sendable {
  private let client: SimulatedClient

  static func at(_ world: SimulatedWorld) async throws -> Witness {
    let client = try world.client()
    let answer = await client.call("event.subscribe")
    try #require(answer.error == nil, "\(answer)")
    return Witness(client: client)
  }

  /// The `data` of each event of one type, oldest first.
  func heard(_ type: String, of account: String? = nil) -> [PracticeJSON] {
    client.events.filter {
      $0["type"]?.stringValue == type && (account == nil || $0["account"]?.stringValue == account)
    }.compactMap { $0["data"] }
  }

  /// Why the person was asked to sign in, each time.
  var expiries: [String] { heard("session.expired").compactMap { $0["reason"]?.stringValue } }

  /// The states that were told.
  var states: [String] { heard("session.stateChanged").compactMap { $0["state"]?.stringValue } }

  var refreshes: Int { heard("token.refreshed").count }
}
