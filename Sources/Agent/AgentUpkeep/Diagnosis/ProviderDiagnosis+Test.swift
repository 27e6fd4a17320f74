internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
internal import AgentSignIn
internal import AgentStore

/// Tries a provider before a person signs in there (docs/providers.md, Trying a provider).
extension ProviderDiagnosis {
  /// More servers than one provider has.
  private static let mostServers = 16

  /// How long a test of one provider takes at most: endpoints that have not answered by then are told so.
  static let longestTest = Milliseconds.seconds(30)
  /// Those of a server's key, which are asked first.
  private static let longestKeys = Milliseconds.seconds(10)

  /// What works without a sign-in. Nothing of it is kept.
  func test(_ provider: Provider) async -> [Finding] {
    let begin = setup.environment.clock.boot()
    let deadline = begin + Self.longestTest
    var trial = ProviderTrial(provider: provider)
    // First the keys: with a wrong pin nothing else works.
    let known = Self.servers(of: provider)
    await readKeys(of: known, until: begin + Self.longestKeys, into: &trial)
    // Without a secret nothing else of it can be tried.
    guard provider.configuration.kind == .openid else { return trial.findings.list }
    if !provider.configuration.knowsItsEndpoints {
      guard await readDocuments(into: &trial, until: deadline) else { return trial.findings.list }
      let more = Self.servers(of: trial.provider).filter { server in !known.contains { $0.origin == server.origin } }
      await readKeys(of: more, until: min(deadline, setup.environment.clock.boot() + Self.longestKeys), into: &trial)
    }
    await tryEndpoints(until: deadline, into: &trial)
    trial.reportRefreshing()
    trial.findings.reportPreset(of: provider)
    return trial.findings.list
  }

  /// All endpoints at the same time: one that hangs leaves the others their time.
  private func tryEndpoints(until deadline: BootInstant, into trial: inout ProviderTrial) async {
    let (client, endpoints) = (setup.client(of: trial.provider), trial.provider.endpoints)
    let late = EndpointTrials.Answer.failed(.unknownOutcome(ExchangeFailure.timedOut))
    async let authorization = within(deadline) { () async -> (answer: EndpointTrials.Answer, redirectURI: String)? in
      guard let endpoint = endpoints.authorization else { return nil }
      return await client.trials.authorization(at: endpoint)
    }
    async let token = within(deadline) { () async -> EndpointTrials.Answer in await client.trials.token() }
    async let device = within(deadline) { () async -> EndpointTrials.Answer in
      guard let endpoint = endpoints.deviceAuthorization else { return late }
      return await client.trials.device(at: endpoint)
    }
    async let revocation = within(deadline) { () async -> EndpointTrials.Answer in
      guard let endpoint = endpoints.revocation else { return late }
      return await client.trials.revocation(at: endpoint)
    }
    async let keys = within(deadline) { () async -> Result<Int, DocumentFailure> in await Self.keys(of: client) }
    let begun = await authorization
    let answers = (token: await token, device: await device, revocation: await revocation, keys: await keys)
    if endpoints.authorization != nil {
      let redirect = trial.provider.configuration.redirect
      let (answer, uri) = (begun ?? nil) ?? (late, redirect.unattendedURI(setup.environment.entropy))
      trial.reportAuthorization(answer, redirectURI: uri)
    }
    if endpoints.token != nil { trial.reportToken(answers.token ?? late) }
    trial.reportDevice(endpoints.deviceAuthorization == nil ? nil : answers.device ?? late)
    trial.reportRevocation(endpoints.revocation == nil ? nil : answers.revocation ?? late)
    if endpoints.jwks != nil { trial.reportKeys(answers.keys ?? .failure(.unavailable(status: 0))) }
  }

  /// Nil if the time ran out.
  private func within<Success: Sendable>(
    _ deadline: BootInstant, _ body: @escaping @Sendable () async -> Success
  ) async -> Success? {
    let result = try? await withDeadline(at: deadline, clock: setup.environment.clock) {
      () async throws(AgentFailure) -> Success in await body()
    }
    return result ?? nil
  }

  /// Reads the documents of the provider; false if they can't be had by then.
  func readDocuments(into trial: inout ProviderTrial, until deadline: BootInstant) async -> Bool {
    let before = trial
    let read = await within(deadline) { () async -> (Provider, Findings, Bool) in
      var (provider, findings) = (before.provider, before.findings)
      let isThere = await diagnose(&provider, into: &findings)
      return (provider, findings, isThere)
    }
    guard let (provider, findings, isThere) = read else {
      let failure = AgentFailure.provider(.document(.unavailable(status: 0)))
      trial.findings.problem("providerReach", failure.message, subject: trial.name.text, remedy(for: failure))
      return false
    }
    (trial.provider, trial.findings) = (provider, findings)
    return isThere
  }

  private func readKeys(of servers: [HTTPURL], until deadline: BootInstant, into trial: inout ProviderTrial) async {
    let client = setup.client(of: trial.provider)
    let keys = await withTaskGroup(of: (Int, ServerKey).self) { group in
      for (place, server) in servers.enumerated() {
        group.addTask {
          (place, await within(deadline) { await client.serverKey(at: server.origin) } ?? .failed(.unknown(.timedOut)))
        }
      }
      var keys: [Int: ServerKey] = [:]
      for await (place, key) in group { keys[place] = key }
      return keys
    }
    for (place, server) in servers.enumerated() {
      guard let key = keys[place] else { continue }
      trial.report(key, of: server.host, now: setup.time.calendarTime(of: trial.name))
    }
  }

  private static func keys(of client: ProviderClient) async -> Result<Int, DocumentFailure> {
    do throws(DocumentFailure) {
      return .success(try await client.documents.readKeys(into: nil)?.set.keys.count ?? 0)
    } catch {
      return .failure(error)
    }
  }

  /// The servers with TLS that requests go to, each once.
  private static func servers(of provider: Provider) -> [HTTPURL] {
    let endpoints = provider.endpoints
    let named = [
      provider.configuration.issuer, endpoints.authorization, endpoints.token, endpoints.deviceAuthorization,
      endpoints.revocation, endpoints.userinfo, endpoints.jwks,
    ]
    var found: [HTTPURL] = []
    for url in (named.compactMap { $0 } + provider.configuration.allowedOrigins).compactMap({ HTTPURL($0) })
    where url.scheme == .https && !found.contains(where: { $0.origin == url.origin }) && found.count < mostServers {
      found.append(url)
    }
    return found
  }
}
