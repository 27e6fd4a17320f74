internal import AgentModel
package import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
package import AgentSignIn
package import AgentStore
internal import Secrets
internal import Synchronization

/// The tests of providers, which each ask a provider some ten requests (docs/providers.md, Trying a provider): one at a
/// time for each provider, whose result all its callers get, and not too many in a row.
package final class ProviderTests: Sendable {
  /// A person mends the configuration and tries again; a program in a loop is stopped.
  static let (most, period) = (10, Milliseconds.seconds(60))
  /// Of all providers at one time, and the callers of one test.
  private static let (mostRunning, mostCallers) = (8, 256)

  private typealias Caller = CheckedContinuation<Result<[Finding], AgentFailure>, Never>

  private struct Run {
    let provider: Provider
    var callers: [UInt64: Caller] = [:]
  }

  private struct State {
    var running: [ProviderName: Run] = [:]
    /// When the tests of the last minute began.
    var begun: [ProviderName: [BootInstant]] = [:]
    var lastCaller: UInt64 = 0
  }

  private let state = Mutex(State())

  package init() {}

  /// Joins the test of this provider that is under way, or begins one.
  package func findings(of provider: Provider, by setup: ProviderSetup) async throws(AgentFailure) -> [Finding] {
    let caller = state.withLock { state in
      state.lastCaller += 1
      return state.lastCaller
    }
    let name = provider.configuration.name
    let result: Result<[Finding], AgentFailure> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(AgentFailure.cancelled)) }
        let begins: Bool
        do throws(AgentFailure) {
          begins = try join(provider, caller, continuation, at: setup.environment.clock.boot())
        } catch {
          return continuation.resume(returning: .failure(error))
        }
        // A cancellation before `join` found no caller to resume, so look for it here.
        defer { if Task.isCancelled { leave(name, caller) } }
        guard begins else { return }
        let isStarted = setup.background.start {
          self.end(name, .success(await ProviderDiagnosis(by: setup).test(provider)))
        }
        if !isStarted { end(name, .failure(.shuttingDown)) }
      }
    } onCancel: {
      leave(name, caller)
    }
    return try result.get()
  }

  /// Resumes a cancelled caller. Its test goes on, for those that joined it and those that come.
  private func leave(_ name: ProviderName, _ caller: UInt64) {
    let left = state.withLock { $0.running[name]?.callers.removeValue(forKey: caller) }
    left?.resume(returning: .failure(AgentFailure.cancelled))
  }

  /// True if the caller's test is to begin now.
  private func join(
    _ provider: Provider, _ caller: UInt64, _ continuation: Caller, at now: BootInstant
  ) throws(AgentFailure) -> Bool {
    let name = provider.configuration.name
    return try state.withLock { (state) throws(AgentFailure) -> Bool in
      if let run = state.running[name] {
        // Its configuration was changed meanwhile: what is found out is of the former one.
        guard run.provider.isConfigured(as: provider), run.callers.count < Self.mostCallers else {
          throw .overloaded("tests of one provider at one time")
        }
        state.running[name]?.callers[caller] = continuation
        return false
      }
      state.begun = state.begun.compactMapValues { moments in
        let left = moments.filter { now < $0 + Self.period }
        return left.isEmpty ? nil : left
      }
      let begun = state.begun[name] ?? []
      if begun.count >= Self.most {
        throw .overloaded("tests of one provider in a minute", retryAfter: begun[0] + Self.period - now)
      }
      guard state.running.count < Self.mostRunning else { throw .overloaded("tests of providers at one time") }
      state.begun[name] = begun + [now]
      state.running[name] = Run(provider: provider, callers: [caller: continuation])
      return true
    }
  }

  private func end(_ name: ProviderName, _ result: Result<[Finding], AgentFailure>) {
    let callers = state.withLock { $0.running.removeValue(forKey: name)?.callers ?? [:] }
    for (_, caller) in callers.sorted(by: { $0.key < $1.key }) { caller.resume(returning: result) }
  }
}

extension Provider {
  fileprivate func isConfigured(as other: Provider) -> Bool {
    guard configuration == other.configuration else { return false }
    guard let mine = clientSecret, let its = other.clientSecret else {
      return clientSecret == nil && other.clientSecret == nil
    }
    return mine.equals(its)
  }
}
