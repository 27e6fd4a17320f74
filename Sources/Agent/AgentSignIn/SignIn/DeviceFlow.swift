internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import Secrets

/// The device flow (RFC 8628): the person agrees anywhere, and the agent asks until they have.
///
/// A part of `SignInCoordinator`, to which its functions are isolated. How a sign-in is asked about stands in its job.
struct DeviceFlow: Sendable {
  let dependencies: AccountDependencies
  let admission: SignInAdmission

  /// Asks for a code that the person types at the provider.
  func begin(
    at provider: Provider, scopes: [String], details: AuthorizationDetails?
  ) async throws(AgentFailure) -> (DeviceAuthorization, expiresAt: BootInstant) {
    guard let endpoint = provider.endpoints.deviceAuthorization else { throw .providerNotFound }
    switch await dependencies.client(of: provider).authorizeDevice(at: endpoint, scopes: scopes, details: details) {
    case .begun(let device, let sentAt): return (device, sentAt + device.lifetime)
    case .unreadable:
      throw .signIn(.invalidDeviceAnswer)
    case .failed(let failure): throw .signIn(.exchange(failure))
    }
  }

  /// Queued revocations go first: one that came later could reach the new tokens.
  func drainWhileThePersonTypes(_ id: String, of signIns: isolated SignInCoordinator) {
    guard let job = signIns.jobs[id] else { return }
    dependencies.background.start { [admission] in await admission.drainBeforeIssue(job) }
  }

  /// Asks the provider as work of the agent: it runs to its end, also if it brings tokens that no sign-in wants any
  /// more.
  func ask(_ id: String, of signIns: isolated SignInCoordinator) {
    guard let job = signIns.jobs[id], case .device(let device, let polling, _) = job.way else { return }
    signIns.jobs[id]?.way = .device(device, polling, asksAt: nil)
    dependencies.background.start { await self.ask(job, device, of: signIns) }
  }

  private func ask(_ job: SignInJob, _ device: DeviceAuthorization, of signIns: isolated SignInCoordinator) async {
    let id = job.id
    let client = dependencies.client(of: job.provider)
    let (figures, issuer) = (dependencies.environment.figures, job.provider.configuration.issuer)
    let hold = await admission.hold(job.provider)
    defer { hold.end() }
    guard signIns.failureOfEnded(id) == nil else { return }
    switch await client.ask(about: device.deviceCode, boundTo: job.deviceKey) {
    case .answered(let body, let sentAt):
      figures.grantEnded(.signIn, nil, issuer: issuer)
      do throws(AgentFailure) {
        // RFC 8628 has no nonce: nothing of ours went through a browser, and the ID token comes from the endpoint.
        let admitted = try await admission.admit(
          SignInAdmission.IssuedAnswer(body, sentAt, of: job, nonce: .unasked, holding: hold), client, of: signIns)
        signIns.finish(id, .completed(admitted.profile.id))
      } catch {
        signIns.finish(id, .failed(error))
      }
    case .told(let answer):
      guard let now = signIns.jobs[id], now.isPending, case .device(_, var polling, _) = now.way else { return }
      switch polling.next(after: answer) {
      case .ask(let pause):
        signIns.jobs[id]?.way = .device(device, polling, asksAt: signIns.clock.boot() + pause)
        signIns.watch()
      case .ended(let end):
        if case .failed(let failure) = end { figures.grantEnded(.signIn, failure, issuer: issuer) }
        signIns.finish(id, .failed(AgentFailure(end)))
      }
    }
  }
}
