import AgentSimulation
import PracticeProvider
import Testing

/// A client that subscribes to every event, and the events it received.
struct Witness: Sendable {
  private let client: SimulatedClient

  static func at(_ world: SimulatedWorld) async throws -> Witness {
    let client = try world.client()
    let answer = await client.call("event.subscribe")
    try #require(answer.error == nil, "\(answer)")
    return Witness(client: client)
  }

  /// The `data` of each event of one type, oldest first.
  func received(_ type: String, of account: String? = nil) -> [PracticeJSON] {
    client.events.filter {
      $0["type"]?.stringValue == type && (account == nil || $0["account"]?.stringValue == account)
    }.compactMap { $0["data"] }
  }

  /// The reason of each request to sign in.
  var expiries: [String] { received("session.expired").compactMap { $0["reason"]?.stringValue } }

  /// The states in the events.
  var states: [String] { received("session.stateChanged").compactMap { $0["state"]?.stringValue } }

  var refreshes: Int { received("token.refreshed").count }
}
