internal import AgentProtocol

enum EventUnsubscribeHandler: OrderedMethodHandler {
  typealias Method = EventUnsubscribe

  static func handle(_ params: EventUnsubscribe.Params, _ call: Call) throws(AgentFailure) -> EventUnsubscribe.Result {
    guard call.agent.events.unsubscribe(params.subscription, connection: call.connection.id) else {
      throw AgentFailure(.notFound, "This connection has no such subscription.").with {
        $0.details = [("kind", .text("subscription"))]
      }
    }
    return EventUnsubscribe.Result(subscription: params.subscription)
  }
}
