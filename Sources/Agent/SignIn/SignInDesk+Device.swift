internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// The device flow (RFC 8628): the person agrees anywhere, and the agent asks until they have.
extension SignInDesk {
  /// The provider, with a place that gives device codes. Real servers name it only in the second document, and one may
  /// have grown it since it was looked at, so its absence is looked into once.
  func providerWithDeviceFlow(_ name: String) async throws(RPCError) -> Provider {
    do throws(RPCError) {
      let provider = try await provider(name) { $0.deviceAuthorization != nil && $0.token != nil }
      if provider.endpoints.deviceAuthorization != nil, provider.endpoints.token != nil { return provider }
    } catch {
      // Where all endpoints were given there may be no discovery, and nothing is wrong with that.
      guard error.reason == "noDiscovery" else { throw error }
    }
    throw .signInFailed(
      "flowUnsupported",
      "This provider offers no sign-in by device code. Sign in by browser or paste, or give its deviceAuthorization "
        + "endpoint by `provider.update`.")
  }

  func authorizeDevice(
    _ provider: Provider, scopes: [String]
  ) async throws(RPCError) -> (DeviceAuthorization, expiresAt: BootInstant) {
    guard let endpoint = provider.endpoints.deviceAuthorization else { throw .providerNotFound }
    switch await client(provider).authorizeDevice(at: endpoint, scopes: scopes) {
    case .begun(let device, let sentAt): return (device, sentAt + device.lifetime)
    case .unreadable:
      throw .signInFailed(
        "invalidDeviceAnswer", "The provider's answer names no code and no page for it. Nothing was kept.")
    case .failed(let failure): throw .signInFailed(failure)
    }
  }

  func startAsking(_ id: String, about device: DeviceAuthorization) {
    guard let job = jobs[id] else { return }
    // While the person types: what a revocation could reach must be made after it.
    around.background.start { await self.drainBeforeIssue(job) }
    ask(id, after: device.interval)
  }

  private func ask(_ id: String, after pause: Milliseconds) {
    let due = clock.boot() + pause
    around.background.startTimer { [clock] in
      await clock.sleep(until: due)
      guard !Task.isCancelled else { return }
      await self.ask(id)
    }
  }

  /// The question is the agent's work: it comes to its end, also if it brings tokens that nobody wants any more.
  private func ask(_ id: String) {
    guard jobs[id]?.isPending == true else { return }
    around.background.start { await self.askNow(id) }
  }

  private func askNow(_ id: String) async {
    guard let job = jobs[id], job.isPending, case .device(let device, _) = job.way else { return }
    let client = client(job.provider)
    switch await client.ask(about: device.deviceCode) {
    case .answered(let body, let sentAt):
      do throws(RPCError) {
        // RFC 8628 has no nonce: nothing of ours went through a browser, and the ID token comes from the endpoint.
        let admitted = try await admit(IssuedAnswer(body, sentAt, of: job, nonce: .unasked), client)
        finish(id, .completed(admitted.profile.id))
      } catch {
        finish(id, .failed(error))
      }
    case .told(let answer):
      guard let now = jobs[id], now.isPending, case .device(_, var polling) = now.way else { return }
      let verdict = polling.heard(answer)
      jobs[id]?.way = .device(device, polling)
      switch verdict {
      case .ask(let pause): ask(id, after: pause)
      case .over(let end): finish(id, .failed(RPCError(end)))
      }
    }
  }
}
