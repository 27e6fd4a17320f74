internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import AgentVault

/// Makes completed sign-ins durable: those that come at the same moment share a commit, and a look at the disk before.
final class AdmissionGroups: Sendable {
  private let admissions: GroupedWork<Admission, Result<Admitted, AgentFailure>>
  private let checks: GroupedWork<Void, Result<Void, AgentFailure>>
  private let imports: GroupedWork<ImportJournal.Step, Result<Void, AgentFailure>>

  init(vault: VaultActor) {
    admissions = GroupedWork { await vault.admit($0) }
    checks = GroupedWork { callers in
      let result = await vault.diskTakesWrites()
      return callers.map { result }
    }
    imports = GroupedWork { steps in
      // What came is stored first: a disk that has no room for another request may have it for an answer.
      var results: [ImportJournal.Step.Kind: Result<Void, AgentFailure>] = [:]
      for kind in ImportJournal.Step.Kind.allCases {
        results[kind] = await vault.take(steps.filter { $0.kind == kind })
      }
      return steps.map { results[$0.kind]! }
    }
  }

  func admit(_ admission: Admission) async throws(AgentFailure) -> Admitted { try await admissions(admission).get() }

  /// A step of an import in the journal. On return it is durable.
  func take(_ step: ImportJournal.Step) async throws(AgentFailure) { try await imports(step).get() }

  /// The disk takes writes, as far as that can be told before.
  func requireWritable() async throws(AgentFailure) { try await checks(()).get() }
}

extension VaultActor {
  fileprivate func diskTakesWrites() -> Result<Void, AgentFailure> {
    result { () throws(AgentFailure) in try unlocked().admissions.requireWritable() }
  }

  fileprivate func take(_ steps: [ImportJournal.Step]) -> Result<Void, AgentFailure> {
    guard !steps.isEmpty else { return .success(()) }
    return result { () throws(AgentFailure) in
      try commit { vault throws(AgentFailure) in try vault.imports.taking(steps) }
    }
  }

  /// Admits in one commit what does not depend on one another, and the rest one by one.
  fileprivate func admit(_ admissions: [Admission]) -> [Result<Admitted, AgentFailure>] {
    var answers = [Result<Admitted, AgentFailure>?](repeating: nil, count: admissions.count)
    let together = independent(admissions)
    if together.count > 1, let shared = admitTogether(together.map { admissions[$0] }) {
      for (place, answer) in zip(together, shared) { answers[place] = answer }
    }
    return zip(admissions, answers).map { admission, answer in answer ?? admit(admission) }
  }

  private func admit(_ admission: Admission) -> Result<Admitted, AgentFailure> {
    Caller.$current.withValue(admission.caller) {
      result { () throws(AgentFailure) in
        try commit { vault throws(AgentFailure) in try vault.admissions.admit(admission) }
      }
    }
  }

  /// The places of sign-ins that can share a commit: of different persons and under different aliases. None before there
  /// is an active account, which the first sign-in makes.
  private func independent(_ admissions: [Admission]) -> [Int] {
    guard let vault, vault.directory.active != nil else { return [] }
    var persons: Set<Admission.Person> = []
    var aliases: Set<String> = []
    return admissions.indices.filter { place in
      let admission = admissions[place]
      guard persons.insert(admission.person).inserted else { return false }
      return admission.alias.map { aliases.insert($0.text).inserted } ?? true
    }
  }

  /// Nil if they have to be tried one by one: nothing was written.
  private func admitTogether(_ admissions: [Admission]) -> [Result<Admitted, AgentFailure>]? {
    guard let vault else { return nil }
    let plans = admissions.map { admission in
      Caller.$current.withValue(admission.caller) {
        result { () throws(AgentFailure) in try vault.admissions.admit(admission) }
      }
    }
    do throws(AgentFailure) {
      var admitted = try commit(ChangeSet(together: plans.compactMap { try? $0.get() }), to: vault)[...]
      return plans.map { plan in plan.map { _ in admitted.removeFirst() } }
    } catch {
      // It may have been written, and only the next start tells.
      guard error.storeFailure == .inputOutput else { return nil }
      return plans.map { plan in plan.flatMap { _ in .failure(error) } }
    }
  }

  private func result<Value>(_ body: () throws(AgentFailure) -> Value) -> Result<Value, AgentFailure> {
    do throws(AgentFailure) { return .success(try body()) } catch { return .failure(error) }
  }
}

extension Admission {
  fileprivate struct Person: Hashable {
    var identity: Identity
    var provider: ProviderName
  }

  fileprivate var person: Person { Person(identity: identity, provider: provider) }
}

extension ChangeSet<[Admitted]> {
  /// The changes of sign-ins that do not depend on one another.
  fileprivate init(together all: [ChangeSet<Admitted>]) {
    var records = all.flatMap(\.records)
    // Each has the time, which is the same for all.
    let times = records.indices.filter { records[$0].isTrustedTime }
    for place in times.dropLast().reversed() { records.remove(at: place) }
    self.init(records, memory: all.flatMap(\.memory)) { erased in all.map { $0.result(erased) } }
  }
}

extension VaultChange {
  fileprivate var isTrustedTime: Bool {
    if case .put(.vault, .trustedTime, _, _) = self { true } else { false }
  }
}
