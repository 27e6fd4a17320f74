internal import AgentProtocol
internal import AgentStore

enum EventUnsubscribeHandler: OrderedMethodHandler {
  typealias Method = EventUnsubscribe

  static func handle(_ params: EventUnsubscribe.Params, _ call: Call) throws(AgentFailure) -> EventUnsubscribe.Result {
    guard call.server.events.unsubscribe(params.subscription, connection: call.client.id) else {
      throw .notFound(.subscription)
    }
    return EventUnsubscribe.Result(subscription: params.subscription)
  }
}
