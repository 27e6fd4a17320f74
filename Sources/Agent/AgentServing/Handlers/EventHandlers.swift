internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum EventSubscribeHandler: OrderedMethodHandler {
  typealias Method = EventSubscribe

  static func handle(_ params: EventSubscribe.Params, _ call: Call) throws(AgentFailure) -> EventSubscribe.Result {
    var accounts: Set<AccountID>?
    if let selectors = params.accounts {
      accounts = []
      for selector in selectors {
        guard let id = call.agent.tokenCache.account(selector: try call.pinned(selector)) else {
          throw .accountNotFound
        }
        accounts?.insert(id)
      }
    }
    guard
      let started = call.connections.events.subscribe(
        connection: call.client.id, output: call.client.output, types: params.types.map { Set($0) },
        accounts: accounts, covered: call.limits?.permission.accounts,
        grants: call.limits?.grants ?? [], since: params.since.map { ($0.epoch, Int64($0.sequence)) })
    else { throw .overloaded("subscriptions on one connection") }
    return EventSubscribe.Result(
      subscription: started.subscription, epoch: call.connections.events.epoch, sequence: Int(started.sequence),
      gap: started.gap)
  }

  static func answered(_ result: EventSubscribe.Result, _ call: Call) {
    call.connections.events.start(result.subscription)
  }
}

enum EventUnsubscribeHandler: OrderedMethodHandler {
  typealias Method = EventUnsubscribe

  static func handle(_ params: EventUnsubscribe.Params, _ call: Call) throws(AgentFailure) -> EventUnsubscribe.Result {
    guard call.connections.events.unsubscribe(params.subscription, connection: call.client.id) else {
      throw .notFound(.subscription)
    }
    return EventUnsubscribe.Result(subscription: params.subscription)
  }
}
