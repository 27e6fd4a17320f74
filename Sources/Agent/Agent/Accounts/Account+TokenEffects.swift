internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentStore

/// Performs the effects of `TokenMachine`, at once.
extension Account {
  func perform(_ effects: [TokenMachine.Effect]) {
    for effect in effects {
      switch effect {
      case .exchange(let attempt):
        exchanges.machine.attemptBegan(attempt)
        // During the shutdown `BackgroundWork` starts no work: refuse the waiters instead.
        let isStarted = dependencies.background.start { await ExchangeRunner.run(attempt, of: self) }
        if !isStarted { refuseWaiters(.shuttingDown) }
      case .answer(let waiter, let serial, let source):
        guard let token = tokens[serial], let issuer = loaded?.profile.identity.issuer else {
          waiting.answer(waiter, .failure(.shuttingDown))
          continue
        }
        let left = token.facts.expiresAt - clock.boot()
        waiting.answer(
          waiter,
          .success(
            TokenAnswer(
              token: token, account: id, issuer: issuer, source: source, expiresAt: token.expiresAt(on: clock),
              expiresInSeconds: max(0, left.wholeSeconds))))
      case .refuse(let waiter, .store) where loaded?.storeError != nil:
        waiting.answer(waiter, .failure(loaded!.storeError!))
      case .refuse(let waiter, let refusal):
        waiting.answer(waiter, .failure(.token(refusal, id)))
      case .persistHealth:
        guard let loaded else { continue }
        self.loaded?.grant.memory = GrantMemory(loaded.machine.memory, boot: clock.boot(), wall: clock.wall())
      case .sessionExpired(let reason):
        dependencies.events.publish(.sessionExpired(reason: reason), account: id)
      case .stateChanged:
        tellState()
      }
    }
  }
}
