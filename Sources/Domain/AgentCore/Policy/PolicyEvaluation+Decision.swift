internal import AgentModel

/// The decision that follows from the failed checks: its effect, and what may help.
extension PolicyEvaluation {
  func decision(policy: (name: String, version: Int64)) -> Decision {
    let effect = effect
    return Decision(
      capability: capability, effect: effect, reason: failed.first?.reason ?? .allowed, failed: failed,
      obligations: effect == .deny ? [] : rule?.obligations ?? [],
      remedies: remedies, validFor: effect == .deny ? nil : holdsFor,
      policyName: policy.name, policyVersion: policy.version, snapshotVersion: facts.snapshot?.version ?? 0,
      audit: rule?.auditRule ?? .durable, question: effect == .deny ? question : nil)
  }

  /// The failures that the provider's next answer may end; nil if there are none, or the provider asks for the person,
  /// or the answer could not help.
  private var question: ProviderQuestion? {
    switch facts.state {
    case .active, .offlineStale, .interactionRequired: break
    case .reauthenticationRequired, .locked, .signedOut: return nil
    }
    let reasons = Set(failed.map(\.reason))
    guard let rule, !takesAnotherPolicy,
      !reasons.isDisjoint(with: [
        .neverAuthenticated, .onlineRequired, .freshTokenRequired, .offlineWindowExpired, .snapshotMissing,
        .snapshotTooOld, .clockSuspect,
      ])
    else { return nil }
    return ProviderQuestion(
      roles: rule.requires.rolesAny != nil || rule.requires.rolesAll != nil
        || rule.forbids.contains { $0.whenRole != nil },
      entitlements: rule.requires.entitlementsAll != nil || rule.forbids.contains { $0.whenEntitlement != nil },
      wholeSnapshot: reasons.contains(.snapshotTooOld) || facts.snapshot == nil,
      time: reasons.contains(.clockSuspect))
  }

  /// `readOnly` if the only failure is a required sign-in, the capability reads, and the policy permits it. A
  /// capability that writes is denied: clients could take `readOnly` for a permission to write.
  private var effect: Decision.Effect {
    if failed.isEmpty { return .allow }
    let isDegraded = failed.count == 1 && failed[0].reason == .reauthenticationRequired
    return isDegraded && rule?.isReadOnlyAfterwards == true ? .readOnly : .deny
  }

  /// In the order in which to try them, without those that can't lead to `allow`: where an administrator has to change
  /// something, no step-up and no sign-in helps. The provider's next answer may tell that it was changed already.
  private var remedies: [Decision.Remedy] {
    let needed = Set(failed.compactMap(remedy))
    guard needed.contains(.administrator) else { return needed.sorted() }
    return question != nil && contact == .connect ? [.connect, .administrator] : [.administrator]
  }

  /// True if only another policy or another request can make this an `allow`.
  private var takesAnotherPolicy: Bool {
    failed.contains { failure in
      switch failure.reason {
      case .unknownCapability, .policyError, .sensitivityTooHigh: true
      case .forbidden: failure.facts.isEmpty
      case .snapshotMissing: lacksRightsForGood(failure)
      default: false
      }
    }
  }

  /// The capability hangs on rights that no answer of the provider reports.
  private func lacksRightsForGood(_ failure: Decision.Failure) -> Bool {
    guard case .words(let missing)? = failure.facts["missing"] else { return false }
    return missing.contains("entitlements") && facts.snapshot?.learnsEntitlements == false
      || missing.contains("roles") && !facts.providerCanBeAsked
  }

  private func remedy(_ failure: Decision.Failure) -> Decision.Remedy? {
    switch failure.reason {
    case .snapshotMissing where lacksRightsForGood(failure): .administrator
    case .stepUpRequired: .stepUp
    // Only time helps.
    case .budgetExceeded: nil
    // Consent to a missing scope is given at the provider, in an interactive sign-in.
    case .missingScope: .interact
    case .signedOut, .reauthenticationRequired: .reauthenticate
    // A restored account that is signed in has a token to ask with.
    case .neverAuthenticated, .snapshotMissing, .snapshotTooOld, .onlineRequired, .freshTokenRequired,
      .offlineWindowExpired, .clockSuspect:
      contact
    case .allowed, .unknownCapability, .accountLocked, .missingRole, .missingEntitlement, .forbidden,
      .sensitivityTooHigh, .policyError:
      .administrator
    }
  }

  /// The remedy that brings a current answer from the provider; where nothing asks it, a key that the person gives.
  private var contact: Decision.Remedy {
    switch facts.state {
    case .active, .offlineStale: facts.providerCanBeAsked ? .connect : .reauthenticate
    case .interactionRequired: .interact
    case .reauthenticationRequired, .signedOut: .reauthenticate
    case .locked: .administrator
    }
  }
}
