import AgentModel
import AgentSimulation
import Testing

/// Programs that send requests on shared or separate connections; each request is answered exactly once.
final class Crowd: Sendable {
  let world: SimulatedWorld
  let clients: [SimulatedClient]

  init(_ world: SimulatedWorld, clients: Int) throws {
    self.world = world
    self.clients = try (0..<clients).map { _ in try world.client() }
  }

  struct Request: Sendable {
    var client: SimulatedClient
    var id: Int
  }

  /// Sends all requests at this moment.
  func ask(_ count: Int, _ method: String = "token.get", _ params: String = #"{"account":"work"}"#) -> [Request] {
    (0..<count).map { number in
      let client = clients[number % clients.count]
      return Request(client: client, id: client.send(method, params))
    }
  }

  func answers(_ requests: [Request]) async -> [SimulatedAnswer] {
    var answers: [SimulatedAnswer] = []
    for request in requests { answers.append(await request.client.answer(to: request.id)) }
    return answers
  }

  /// Sends each request after its delay; returns all answers, in the order of the delays.
  func answers(
    after delays: [Milliseconds], _ method: String = "token.get", _ params: String = #"{"account":"work"}"#
  ) async -> [SimulatedAnswer] {
    await withTaskGroup(of: (Int, SimulatedAnswer).self) { group in
      for (number, delay) in delays.enumerated() {
        let client = clients[number % clients.count]
        group.addTask { [world] in
          await world.clock.sleep(for: delay)
          return (number, await client.call(method, params))
        }
      }
      var answers: [Int: SimulatedAnswer] = [:]
      for await (number, answer) in group { answers[number] = answer }
      return delays.indices.compactMap { answers[$0] }
    }
  }

  /// No request has two answers or none. Call it when all is over.
  func wasAnsweredOnce(_ asked: Int, sourceLocation: SourceLocation = #_sourceLocation) {
    let head = #"{"jsonrpc":"2.0","id":"#
    var answered = 0
    for client in clients {
      let ids = client.takeLines().filter { $0.hasPrefix(head) }.map { line in
        line.dropFirst(head.count).prefix { $0 != "," }
      }
      #expect(Set(ids).count == ids.count, "a request was answered twice", sourceLocation: sourceLocation)
      answered += ids.count
    }
    #expect(answered == asked, "each request has an answer", sourceLocation: sourceLocation)
  }
}
