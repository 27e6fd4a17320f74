internal import AgentCore
internal import AgentModel

/// What agents ask beside tokens: documents, keys, revocations, sign-ins.
extension Fleet {
  // MARK: documents

  /// As `MetadataRefresher`: old documents are read when the provider was asked something anyway.
  func readDocuments(_ agent: Int, _ result: ProviderResult) {
    let age = Milliseconds(now - agents[agent].documentsReadAt)
    guard result != .refused, result != .silent, DocumentAge.isDue(age: age, jitter: random.fraction()) else { return }
    agents[agent].documentsReadAt = now
    // The OpenID document, and the one of RFC 8414.
    _ = provider.take(.documents, at: now)
    _ = provider.take(.documents, at: now)
  }

  // MARK: ID tokens

  /// A refresh brought an ID token, signed by the provider's key of now.
  func broughtIDToken(_ agent: Int) {
    keyOfProvider()
    agents[agent].tokenKey = provider.keyNumber
    guard agents[agent].identity != nil else { return }
    let lifetime = Milliseconds.seconds(plan.lifetime)
    let wall = Timestamp(milliseconds: boot.milliseconds)
    let facts = IDTokenMachine.Facts(serial: agents[agent].serial, expiresAt: wall + lifetime, lifetime: lifetime)
    let isVerified = agents[agent].knownKey == provider.keyNumber
    agents[agent].identity?.brought(facts, isVerified: isVerified, at: wall)
    heap.plan(.identity, of: agent, at: now + random.pause(mean: agents[agent].pauseOfPrograms))
  }

  private func keyOfProvider() {
    guard plan.scenario == .keyChange || plan.scenario == .keyRevoked else { return }
    provider.keyNumber = now >= FleetPlan.beginning * 1000 ? 1 : 0
  }

  func askForIdentity(_ agent: Int) {
    let wall = Timestamp(milliseconds: boot.milliseconds)
    guard !agents[agent].isReadingKeys,
      case .verify? = agents[agent].identity?.step(minimum: Self.minimumLifetime, isLast: false, at: wall)
    else { return }
    agents[agent].isReadingKeys = true
    let (result, at) = provider.take(.keys, at: now)
    heap.plan(.keys, of: agent, at: at, result: result)
  }

  func keysCame(_ agent: Int, _ result: ProviderResult) {
    agents[agent].isReadingKeys = false
    guard result == .served else {
      // As `AccountIdentity.hold`.
      agents[agent].keyFailures += 1
      let pause = max(
        Backoff.shortest, Backoff.pause(failures: agents[agent].keyFailures, jitter: random.fraction()))
      return heap.plan(
        .identity, of: agent, at: now + pause.count + random.pause(mean: agents[agent].pauseOfPrograms))
    }
    agents[agent].keyFailures = 0
    agents[agent].knownKey = provider.keyNumber
    if let serial = agents[agent].identity?.unverified?.serial {
      agents[agent].identity?.checked(serial: serial, isValid: true)
    }
  }

  // MARK: sign-out

  func signOut(_ agent: Int) {
    guard plan.client == .lanyard, !agents[agent].owesRevocation else { return }
    var signOut = SignOutMachine(plan.scenario == .signOutOffline ? .offline : .hard)
    let entry: SignOutMachine.Entry = [0]
    _ = signOut.committed(SignOutMachine.Departure(wasActive: true, entries: [entry], isErased: true))
    _ = agents[agent].machine.signedOut()
    _ = signOut.released()
    _ = signOut.releasedHeldAnswer(nil)
    agents[agent].owesRevocation = true
    agents[agent].askStamp &+= 1
    agents[agent].nextLook = nil
    switch signOut.state {
    case .queueing:
      // As `SignOutStore`: sent when the provider may be reachable again, and at the latest then.
      planRevocation(agent, at: now + RevocationOutbox.postponed(jitter: random.fraction()).count)
    default: planRevocation(agent, at: now)
    }
    personIsTold()
    planSignIn(agent)
  }

  func planRevocation(_ agent: Int, at moment: Int64) {
    agents[agent].revocationStamp &+= 1
    heap.plan(.revocation, of: agent, at: moment, stamp: agents[agent].revocationStamp)
  }

  func sendRevocation(_ agent: Int) {
    guard agents[agent].owesRevocation, !agents[agent].isRevoking else { return }
    agents[agent].isRevoking = true
    let (result, at) = provider.take(.revocation, at: now)
    heap.plan(.revocationAnswer, of: agent, at: at, result: result)
  }

  func revocationAnswer(_ agent: Int, _ result: ProviderResult) {
    agents[agent].isRevoking = false
    agents[agent].revocationAttempts += 1
    let answer: RevocationOutbox.Answer =
      switch result {
      case .served: .response(status: 200, error: nil, retryAfter: nil)
      case .throttled: .response(status: 429, error: nil, retryAfter: nil)
      case .refused, .silent: .none
      default: .response(status: 503, error: nil, retryAfter: nil)
      }
    let verdict = RevocationOutbox.verdict(
      answer, attempts: agents[agent].revocationAttempts, jitter: random.fraction())
    switch verdict {
    case .again(let pause), .refused(let pause): planRevocation(agent, at: now + pause.count)
    case .confirmed, .unsupported, .refusedForGood:
      agents[agent].owesRevocation = false
      agents[agent].revocationAttempts = 0
    }
  }

  // MARK: sign-in

  /// A person was told to sign in again, and does when there is time.
  func planSignIn(_ agent: Int) {
    guard !agents[agent].isSigningIn else { return }
    agents[agent].isSigningIn = true
    heap.plan(.signIn, of: agent, at: now + random.pause(mean: plan.signIn * 1000))
  }

  /// The page in the browser, the code for tokens, and the keys that prove who signed in. Before it revocations of this
  /// person go out (`RevocationWorker.drain`).
  func signIn(_ agent: Int) {
    if isAsleep(agent) {
      return heap.plan(.signIn, of: agent, at: agents[agent].sleepsUntil + random.pause(mean: plan.signIn * 1000))
    }
    if agents[agent].owesRevocation { sendRevocation(agent) }
    _ = provider.take(.signIn, at: now)
    _ = provider.take(.keys, at: now)
    let (result, at) = provider.take(.signIn, at: now)
    heap.plan(.signInAnswer, of: agent, at: at, result: result)
  }

  func signInAnswer(_ agent: Int, _ result: ProviderResult) {
    guard result == .served else {
      // A person tries again in a minute, and then later and later.
      agents[agent].signInFailures += 1
      let mean = min(plan.signIn * 1000, 60_000 << Int64(min(agents[agent].signInFailures - 1, 10)))
      return heap.plan(.signIn, of: agent, at: now + 10_000 + random.pause(mean: mean))
    }
    agents[agent].isSigningIn = false
    agents[agent].signInFailures = 0
    let token = token(of: agent, at: now)
    _ = agents[agent].machine.adopt(token, for: .standard)
    keyOfProvider()
    agents[agent].knownKey = provider.keyNumber
    agents[agent].tokenKey = provider.keyNumber
    becomesWell(agent)
    watch(agent)
    planNextAsk(agent)
  }
}
