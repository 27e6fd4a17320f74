internal import AgentCore
internal import AgentModel

/// An event of a grant. `apply` returns nil if the event can't happen now.
struct Input: Sendable {
  /// The source of the event, which is the heading of its table.
  enum Group: String, CaseIterable {
    case demand = "A program asks"
    case exchange = "The exchange ends"
    case time = "Time passes"
    case agent = "The rest of the agent"
    case start = "The agent starts again"
  }

  struct Name: Hashable {
    var group: Group
    var text: String
  }

  var name: Name
  var apply: @Sendable (inout Subject) -> [TokenMachine.Effect]?

  static let all: [Input] = asking + exchangeEnds + timePasses + fromOutside + afterAStart

  private init(_ group: Group, _ text: String, _ apply: @escaping @Sendable (inout Subject) -> [TokenMachine.Effect]?) {
    name = Name(group: group, text: text)
    self.apply = apply
  }

  // MARK: callers

  private static let asking: [Input] = Subject.demands.map { name in
    Input(.demand, name) { subject in
      // A second caller is answered like the first.
      guard subject.waiting.isEmpty else { return nil }
      return subject.wants(subject.demand(name))
    }
  }

  // MARK: the exchange in flight

  private static let failures: [ExchangeFailure] = [
    .offline(.refused), .untrustedServer(.tls), .transient("status503", retryAfter: nil),
    .transient("throttled", retryAfter: .seconds(60)), .unexplained(status: 400), .unknownOutcome("reset"),
    .reauthenticate(reason: "refused"), .locked, .interaction(claims: nil), .misconfigured("invalid_client"),
    .misconfigured("invalid_scope"), .store,
  ]

  private static let exchangeEnds: [Input] =
    [
      Input(.exchange, "success") { subject in
        guard subject.machine.exchange != nil else { return nil }
        subject.failures = 0
        return subject.meets { $0.succeeds() }
      },
      Input(.exchange, "no usable token") { subject in
        guard let attempt = subject.machine.exchange else { return nil }
        subject.failures += 1
        return subject.meets { grant in
          grant.noted(grant.machine.exchangeBroughtNoToken(attempt: attempt.number, at: grant.now))
        }
      },
      Input(.exchange, "answer held, disk full") { subject in
        guard let attempt = subject.machine.exchange else { return nil }
        return subject.meets { grant in grant.noted(grant.machine.answerIsHeld(attempt: attempt.number)) }
      },
    ]
    + failures.map { failure in
      Input(.exchange, Labels.failure(failure)) { subject in
        guard subject.machine.exchange != nil else { return nil }
        subject.failures += 1
        return subject.meets { $0.fails(failure) }
      }
    }
    + [
      Input(.exchange, "bearer token where bound ones are served") { subject in
        guard let attempt = subject.machine.exchange else { return nil }
        subject.failures += 1
        return subject.meets { grant in
          grant.noted(grant.machine.exchangeBroughtUnboundToken(attempt: attempt.number, at: grant.now))
        }
      }
    ]

  // MARK: the clock

  /// Time passes until the next moment at which the grant changes; later moments need further steps.
  private static let timePasses: [Input] =
    ["refresh time", "expiry", "pause over"].map { name in
      Input(.time, name) { subject in
        guard let next = subject.moments.first, next.name == name, subject.hiddenMoment == nil else { return nil }
        return subject.meets { grant in
          grant.now = next.at
          return grant.noted([])
        }
      }
    } + [
      Input(.time, "time") { subject in
        guard let moment = subject.hiddenMoment else { return nil }
        return subject.meets { grant in
          grant.now = moment
          return grant.noted([])
        }
      }
    ]

  // MARK: the rest of the agent

  private static let fromOutside: [Input] = [
    Input(.agent, "renewal timer") { subject in subject.meets { $0.renews() } },
    Input(.agent, "sign-in") { subject in
      // A sign-in makes a new machine (Account.signedIn).
      guard subject.machine.exchange == nil else { return nil }
      let variant = subject.variant
      return subject.meets { grant in
        grant.machine = TokenMachine(
          memory: TokenMemory(health: .ok), rule: variant.rule, toldState: grant.machine.toldState)
        return grant.noted(grant.machine.adopt(grant.token(), for: variant.key))
      }
    },
    Input(.agent, "sign-out") { subject in subject.meets { $0.noted($0.machine.signedOut()) } },
    Input(.agent, "provider.update") { subject in
      let rule = subject.variant.rule
      return subject.meets { $0.noted($0.machine.reconfigured(rule: rule)) }
    },
    Input(.agent, "reconnect") { subject in
      subject.meets { grant in
        grant.machine.reconnected()
        return grant.noted([])
      }
    },
    Input(.agent, "caller gone") { subject in
      guard let id = subject.waiting.keys.first else { return nil }
      subject.waiting = [:]
      return subject.meets { grant in
        grant.machine.waiterLeft(id)
        return []
      }
    },
  ]

  /// A new agent reads the grant's durable state, and the journal of an exchange that was in flight.
  private static let afterAStart: [Input] = [
    Input(.start, "restart") { subject in
      guard subject.machine.exchange == nil else { return nil }
      subject.restart()
      return []
    },
    start("crash after sending") { grant, exchange, _ in
      grant.machine.recoveredWithoutAnswer(
        sentAt: exchange.startedAt, lostReplays: grant.machine.lostReplays + (exchange.isReplay ? 1 : 0), at: grant.now,
        jitter: 0.5)
    },
    start("reboot after sending") { grant, exchange, _ in
      grant.machine.recoveredWithoutAnswer(
        sentAt: nil, lostReplays: grant.machine.lostReplays + (exchange.isReplay ? 1 : 0), at: grant.now, jitter: 0.5)
    },
    start("crash after staging") { grant, _, variant in
      grant.machine.recoveredWithAnswer(for: variant.key, at: grant.now)
    },
  ]

  private static func start(
    _ name: String,
    _ recover: @escaping @Sendable (inout Grant, TokenMachine.Attempt, Explorer.Variant) -> [TokenMachine.Effect]
  ) -> Input {
    Input(.start, name) { subject in
      guard let exchange = subject.machine.exchange else { return nil }
      let variant = subject.variant
      subject.restart()
      return subject.meets { grant in grant.noted(recover(&grant, exchange, variant)) }
    }
  }
}

extension Subject {
  /// Restarts the agent: waiters and access tokens are gone, and the machine is made from its durable state.
  fileprivate mutating func restart() {
    waiting = [:]
    grant.machine = TokenMachine(
      memory: machine.memory, rule: variant.rule, toldState: machine.toldState, at: grant.now)
  }
}
