internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import Secrets

/// The device flow (RFC 8628): the person agrees anywhere, and the agent asks until they have.
extension SignInCoordinator {
  /// The provider, with a place that gives device codes. Real servers name it only in the second document, and one may
  /// have grown it since it was looked at, so its absence is looked into once.
  func providerWithDeviceFlow(_ name: String) async throws(AgentFailure) -> Provider {
    do throws(AgentFailure) {
      let provider = try await provider(name) { $0.deviceAuthorization != nil && $0.token != nil }
      if provider.endpoints.deviceAuthorization != nil, provider.endpoints.token != nil { return provider }
    } catch {
      // Where all endpoints were given there may be no discovery, and nothing is wrong with that.
      guard case .provider(.document(let failure)) = error, failure.isNoDocument else { throw error }
    }
    throw .signIn(.deviceFlowUnsupported)
  }

  func authorizeDevice(
    _ provider: Provider, scopes: [String]
  ) async throws(AgentFailure) -> (DeviceAuthorization, expiresAt: BootInstant) {
    guard let endpoint = provider.endpoints.deviceAuthorization else { throw .providerNotFound }
    switch await client(provider).authorizeDevice(at: endpoint, scopes: scopes) {
    case .begun(let device, let sentAt): return (device, sentAt + device.lifetime)
    case .unreadable:
      throw .signIn(.invalidDeviceAnswer)
    case .failed(let failure): throw .signIn(.exchange(failure))
    }
  }

  /// Queued revocations go first: one that came later could reach the new tokens.
  func drainWhileThePersonTypes(_ id: String) {
    guard let job = jobs[id] else { return }
    dependencies.background.start { await self.drainBeforeIssue(job) }
  }

  /// Asks the provider as work of the agent: it runs to its end, also if it brings tokens that no sign-in wants any
  /// more.
  package func ask(_ id: String) {
    guard let job = jobs[id], case .device(let device, let polling, _) = job.way else { return }
    jobs[id]?.way = .device(device, polling, asksAt: nil)
    dependencies.background.start { await self.ask(job, device) }
  }

  private func ask(_ job: SignInJob, _ device: DeviceAuthorization) async {
    let id = job.id
    let client = client(job.provider)
    switch await client.ask(about: device.deviceCode) {
    case .answered(let body, let sentAt):
      do throws(AgentFailure) {
        // RFC 8628 has no nonce: nothing of ours went through a browser, and the ID token comes from the endpoint.
        let admitted = try await admit(IssuedAnswer(body, sentAt, of: job, nonce: .unasked), client)
        finish(id, .completed(admitted.profile.id))
      } catch {
        finish(id, .failed(error))
      }
    case .told(let answer):
      guard let now = jobs[id], now.isPending, case .device(_, var polling, _) = now.way else { return }
      switch polling.next(after: answer) {
      case .ask(let pause):
        jobs[id]?.way = .device(device, polling, asksAt: clock.boot() + pause)
        watch()
      case .ended(let end): finish(id, .failed(AgentFailure(end)))
      }
    }
  }
}
