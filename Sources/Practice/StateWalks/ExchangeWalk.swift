internal import AgentCore
internal import AgentModel

/// Finds the possible transitions of runs by driving the machine itself: applies every report to every reached state,
/// until no new state appears. One sign-in or sign-out in each walk, so that at most one run is overtaken.
struct ExchangeWalk {
  typealias Machine = ExchangeMachine

  /// The steps of a run.
  private(set) var runs = Transitions()
  /// The changes that a run leaves for the next one.
  private(set) var leftovers = Transitions()
  /// The changes of the account.
  private(set) var account = Transitions()

  static func everything() -> ExchangeWalk {
    var walk = ExchangeWalk()
    walk.walk()
    return walk
  }

  private mutating func walk() {
    var waiting = [Subject()]
    var seen = Set(waiting)
    var next = 0
    while next < waiting.count {
      let subject = waiting[next]
      next += 1
      // The shell reports a step without a wait before any other event.
      let busy = Subject.runs.first { subject.isAtOnce($0) }
      for (input, after, effects) in busy == nil ? subject.whatHappens : [] {
        let leftover = (subject.leftover, after.leftover)
        account.add(Transition(from: leftover.0, input: input, to: leftover.1, effects: effects))
        note(input, leftover)
        for run in Subject.runs where subject.step(run) == nil && after.step(run) != nil {
          runs.add(Transition(from: "none", input: input, to: after.step(run)!, effects: effects))
        }
        if seen.insert(after).inserted { waiting.append(after) }
      }
      for run in Subject.runs where busy == nil || busy == run {
        guard let step = subject.step(run) else { continue }
        for (report, after, effects) in subject.reports(of: run) {
          runs.add(
            Transition(
              from: step, input: report, variant: subject.standing(run), to: after.step(run) ?? "none",
              effects: effects))
          note("\(report) in \(step)", (subject.leftover, after.leftover))
          if seen.insert(after).inserted { waiting.append(after) }
        }
      }
    }
  }

  private mutating func note(_ input: String, _ leftover: (String, String)) {
    if leftover.0 != leftover.1 { leftovers.add(Transition(from: leftover.0, input: input, to: leftover.1)) }
  }
}

extension ExchangeWalk {
  /// The exchanges of an account during the walk, and the token machine's knowledge of them.
  struct Subject: Hashable {
    /// The current run, one that a sign-in has overtaken, and the next one.
    static let runs: [Machine.RunID] = [1, 2, 3]

    var exchange = Exchange()
    var epoch: UInt64 = 1
    var isLoaded = true
    /// The token machine's attempt, until its end is reported to the machine.
    var attempt: TokenMachine.Attempt?
    /// The next attempt is a replay.
    var isInDoubt = false

    func step(_ run: Machine.RunID) -> String? { exchange.machine.step(of: run).map(Labels.caseName) }
    var leftover: String { Labels.caseName(exchange.machine.unfinished.leftover) }

    /// The facts that decide a run's next step, beside its current step.
    func standing(_ run: Machine.RunID) -> String {
      guard exchange.machine.current == run else { return "signed in since" }
      guard isLoaded else { return "vault locked" }
      let isOfThisEpoch = exchange.machine.step(of: run)?.intent.map { $0.epoch == epoch } ?? true
      return isOfThisEpoch ? Transitions.usual : "signed out since"
    }

    /// True if the run's step needs no wait.
    func isAtOnce(_ run: Machine.RunID) -> Bool {
      switch exchange.machine.step(of: run) {
      case .prepare, .judge, .adopt, .end: true
      default: false
      }
    }

    // MARK: changes of the account

    var whatHappens: [(String, Subject, [String])] {
      var all: [(String, Subject, [String])] = []
      func happens(_ name: String, _ change: (inout Subject) -> [Machine.Effect]) {
        var after = self
        let effects = change(&after)
        after.perform(effects)
        all.append((name, after, effects.map(Labels.exchangeEffect)))
      }
      if isLoaded, exchange.machine.current == nil {
        happens("attempt") { $0.begin() }
      }
      if isLoaded {
        happens("vault locked") { subject in
          subject.release()
          subject.exchange.machine.vaultLocked(dropAs: subject.freeRun)
          return []
        }
      } else {
        happens("unlocked, journal empty") { $0.load(.empty) }
        happens("unlocked, a request") { $0.load(.intent(Exchange.intent(epoch: $0.epoch, leaving: true))) }
        happens("unlocked, an unsent request") { $0.load(.intent(Exchange.intent(epoch: $0.epoch))) }
        happens("unlocked, a request and its answer") {
          $0.load(.answer(Exchange.intent(epoch: $0.epoch, leaving: true)))
        }
      }
      guard epoch == 1 else { return all }
      happens("sign-in") { subject in
        subject.epoch = 2
        (subject.isLoaded, subject.attempt, subject.isInDoubt) = (true, nil, false)
        subject.exchange.machine.signedIn(epoch: 2)
        return []
      }
      happens("sign-out") { subject in
        subject.epoch = 2
        _ = subject.exchange.machine.releaseHeldAnswer()
        subject.release()
        return []
      }
      return all
    }

    private var freeRun: Machine.RunID { Self.runs.first { step($0) == nil }! }

    private mutating func begin() -> [Machine.Effect] {
      let wanted = attempt ?? Exchange.attempt(replay: isInDoubt)
      attempt = wanted
      return exchange.begins(wanted, as: freeRun)
    }

    private mutating func load(_ journal: Machine.JournalEntry) -> [Machine.Effect] {
      isLoaded = true
      exchange.machine.loaded(epoch: epoch)
      return exchange.machine.recover(journal, generation: 7, bootID: Exchange.bootID, at: Exchange.now)
    }

    private mutating func release() {
      (isLoaded, attempt, isInDoubt) = (false, nil, false)
      exchange.machine.released()
    }

    // MARK: reports of a run

    func reports(of run: Machine.RunID) -> [(String, Subject, [String])] {
      guard let step = exchange.machine.step(of: run) else { return [] }
      return results(of: step, run).map { name, report in
        var after = self
        let effects = report(&after.exchange.machine)
        after.perform(effects)
        return (name, after, effects.map(Labels.exchangeEffect))
      }
    }

    private typealias Report = (inout Machine) -> [Machine.Effect]

    private func results(of step: Machine.Step, _ run: Machine.RunID) -> [(String, Report)] {
      switch step {
      case .revokeHeld: [("revoked", { $0.completed(run, .heldWasRevoked) })]
      case .queue:
        [
          ("admitted", { $0.completed(run, .queued(isAdmitted: true)) }),
          ("agent ends", { $0.completed(run, .queued(isAdmitted: false)) }),
          ("provider silent", { $0.completed(run, .providerIsSilent) }),
        ]
      case .prepare(let attempt):
        [
          ("ready", { $0.completed(run, .prepared(.ready(Exchange.intent(epoch: epoch, replay: attempt.isReplay)))) }),
          ("grace elapsed", { $0.completed(run, .prepared(.graceElapsed)) }),
          ("no refresh token", { $0.completed(run, .prepared(.noRefreshToken)) }),
          ("store failed", { $0.completed(run, .prepared(.storeFailed)) }),
        ]
      case .connect:
        [
          (
            "connected",
            { machine in
              // A connection for nothing is closed again.
              machine.connected(run, at: Exchange.now, wall: Exchange.intent().wall) == nil
                ? machine.completed(run, .sent(.failed(.offline(.withheld)))) : []
            }
          ), ("offline", { $0.completed(run, .sent(.failed(.offline(.refused)))) }),
        ]
      case .begin:
        [
          (
            "durable",
            {
              _ = $0.began(run, .durable); return []
            }
          ),
          (
            "grace elapsed",
            {
              _ = $0.began(run, .graceElapsed); return []
            }
          ),
          (
            "overtaken",
            {
              _ = $0.began(run, .overtaken); return []
            }
          ),
          (
            "store failed",
            {
              _ = $0.began(run, .storeFailed); return []
            }
          ),
        ]
      case .mark:
        [("marked", .done), ("overtaken", .overtaken), ("store failed", .storeFailed)].map {
          (name: String, marking: Machine.Marking) in
          (
            name,
            {
              _ = $0.marked(run, marking)
              return []
            }
          )
        }
      case .withhold: [("closed", { $0.completed(run, .sent(.failed(.offline(.withheld)))) })]
      case .send:
        [("answered", { $0.completed(run, .sent(.answered(sentAt: Exchange.now))) })]
          + [ExchangeFailure.offline(.refused), .unknownOutcome("reset"), .reauthenticate(reason: "refused")].map {
            failure in (Labels.failure(failure), { $0.completed(run, .sent(.failed(failure))) })
          }
      case .stage: stagings { machine, staging in machine.completed(run, .staged(staging)) }
      case .drop: stagings { machine, staging in machine.completed(run, .dropped(staging)) }
      case .judge:
        [
          ("usable", { $0.completed(run, .judged(.usable)) }),
          ("unreadable", { $0.completed(run, .judged(.unreadable)) }),
          ("without tokens", { $0.completed(run, .judged(.withoutTokens)) }),
          ("another person", { $0.completed(run, .judged(.anotherPerson(reason: "subjectChanged"))) }),
        ]
      case .disown: [("revoked", { $0.completed(run, .disowned) })]
      case .commit:
        [
          ("durable", { $0.completed(run, .committed(.durable)) }),
          ("overtaken", { $0.completed(run, .committed(.overtaken)) }),
          ("vault locked", { $0.completed(run, .committed(.vaultLocked)) }),
          ("store failed", { $0.completed(run, .committed(.storeFailed)) }),
        ]
      case .adopt:
        [
          ("token", { $0.completed(run, .adopted(hasToken: true)) }),
          ("no token", { $0.completed(run, .adopted(hasToken: false)) }),
        ]
      case .settle: [("settled", { $0.completed(run, .settled) })]
      case .noteUnspent: [("noted", { $0.completed(run, .unspentWasNoted) })]
      case .revokeOvertaken: [("revoked", { $0.completed(run, .overtakenWasRevoked) })]
      case .end: [("ended", { $0.completed(run, .ended) })]
      }
    }

    private func stagings(_ report: @escaping (inout Machine, Machine.Staging) -> [Machine.Effect]) -> [(
      String, Report
    )] {
      [
        ("staged", { report(&$0, .staged) }), ("in the inbox", { report(&$0, .dropped) }),
        ("overtaken", { report(&$0, .overtaken) }), ("store failed", { report(&$0, .storeFailed) }),
      ]
    }

    // MARK: the shell

    private mutating func perform(_ effects: [Machine.Effect]) {
      for effect in effects {
        switch effect {
        case .release: release()
        case .report(.token), .report(.noToken): (attempt, isInDoubt) = (nil, false)
        case .report(.held): isInDoubt = false
        case .report(.failure(let failure, _)):
          attempt = nil
          if case .unknownOutcome = failure { isInDoubt = true }
        case .report(.lostRequest): isInDoubt = true
        case .report(.answer):
          let began = Exchange.attempt()
          attempt = began
          // Its run begins with "attempt", or the attempt waits for the active run.
          exchange.machine.attemptBegan(began)
        default: break
        }
      }
    }
  }
}

extension ExchangeMachine.Step {
  fileprivate var intent: ExchangeIntent? {
    switch self {
    case .connect(let intent), .begin(let intent), .mark(let intent), .send(let intent), .withhold(let intent, _),
      .stage(let intent), .judge(let intent), .disown(let intent, _),
      .commit(let intent), .adopt(let intent, _), .noteUnspent(let intent),
      .drop(let intent):
      intent
    case .settle(let intent, _, _, _): intent
    // The answer belongs to an earlier sign-in.
    case .revokeHeld, .revokeOvertaken: nil
    case .queue, .prepare, .end: nil
    }
  }
}
