internal import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentStore
package import AgentVault

extension OpenVault {
  package var imports: ImportJournal { ImportJournal(vault: self) }
}

/// The stored journal of imports (docs/tokens.md, Imports), a twin of `ExchangeJournal`: an import has no account yet.
package struct ImportJournal {
  let vault: OpenVault

  /// One step of an import in the journal.
  package enum Step: Sendable {
    /// The connection stands, and nothing has been sent on it.
    case begin(ImportIntent)
    /// The durable request is about to leave. It is enough that this survives the process, as in `ExchangeJournal.mark`.
    case mark(ImportIntent)
    /// The provider has answered: stored before the answer is read.
    case stage(StagedImport)
    case end([UInt8])
  }

  /// Records of requests without an answer that are kept: each is the import of another token.
  static let most = 256

  package func intent(of digest: Int64, at provider: ProviderName) -> ImportIntent? {
    vault.importTable.all.values.first { $0.digest == digest && $0.provider == provider }
  }

  /// Those whose answers wait to be gone on with, oldest first.
  package var answered: [ImportIntent] { sorted.filter(\.isAnswered) }

  /// How many records do not open.
  package var damaged: Int { vault.importTable.damaged.count }

  private var sorted: [ImportIntent] {
    vault.importTable.all.values.sorted {
      ($0.request.wall, $0.request.fingerprint) < ($1.request.wall, $1.request.fingerprint)
    }
  }

  package func isAnswered(_ id: [UInt8]) -> Bool { vault.importTable.all[id]?.isAnswered == true }

  package func staged(_ id: [UInt8]) throws(AgentFailure) -> StagedImport? {
    try vault.withRecords { (records) throws(VaultFailure) in
      guard isAnswered(id), let plain = try records.read(.vault, .importJournal, id: id)
      else { return nil }
      guard let staged = StagedImport(plain) else { throw .integrity }
      return staged
    }
  }

  /// True if the person signed out at the provider since the import began.
  func isOvertaken(_ id: [UInt8], by person: Identity) throws(AgentFailure) -> Bool {
    guard let intent = vault.importTable.all[id], !intent.signedOut.isEmpty else { return false }
    return intent.signedOut.contains(try vault.digest(of: person, at: intent.provider))
  }

  // MARK: changes

  /// The steps of imports that go on at the same moment. A request begins only if its answer has room, too.
  package func taking(_ steps: [Step]) throws(AgentFailure) -> ChangeSet<Void> {
    var (records, memory): ([VaultChange], [MemoryChange]) = ([], [])
    if steps.contains(where: { $0.kind == .begin }) {
      try vault.withRecords { (records) throws(VaultFailure) in try records.checkWritable() }
      for id in surplus { add(ending(id)) }
    }
    for step in steps {
      switch step {
      case .begin(let intent): add(putting(intent))
      case .mark(var intent):
        intent.request.isLeaving = true
        intent.signedOut = vault.importTable.all[intent.id]?.signedOut ?? []
        add(putting(intent))
      case .stage(var staged):
        staged.intent.signedOut = vault.importTable.all[staged.intent.id]?.signedOut ?? []
        add(([.put(.vault, .importJournal, id: staged.intent.id, staged.record)], [.importPut(staged.intent)]))
      case .end(let id): add(ending(id))
      }
    }
    var changes = ChangeSet(records, memory: memory)
    if steps.allSatisfy({ $0.kind == .mark }) { changes.durability = .kernel }
    return changes

    func add(_ change: (records: [VaultChange], memory: [MemoryChange])) {
      records += change.records
      memory += change.memory
    }
  }

  /// The oldest requests without an answer, and what does not open, which no import can go on with.
  private var surplus: [[UInt8]] {
    let lost = sorted.filter { !$0.isAnswered }
    return vault.importTable.damaged.sorted { $0.lexicographicallyPrecedes($1) }
      + lost.prefix(max(0, lost.count + 1 - Self.most)).map(\.id)
  }

  private func putting(_ intent: ImportIntent) -> (records: [VaultChange], memory: [MemoryChange]) {
    ([.put(.vault, .importJournal, id: intent.id, intent.record)], [.importPut(intent)])
  }

  /// For the transaction in which an account or the outbox takes what the import brought.
  package func ending(_ id: [UInt8]?) -> (records: [VaultChange], memory: [MemoryChange]) {
    guard let id, vault.importTable.all[id] != nil || vault.importTable.damaged.contains(id) else { return ([], []) }
    return ([.delete(.vault, .importJournal, id: id)], [.importRemoved(id)])
  }

  /// For the transaction that signs a person out: what an import brings later does not sign them in again.
  func signingOut(
    _ profile: AccountProfile
  ) throws(AgentFailure) -> (records: [VaultChange], memory: [MemoryChange]) {
    var (records, memory): ([VaultChange], [MemoryChange]) = ([], [])
    // No answer comes to a request of an earlier boot.
    let concerned = sorted.filter {
      $0.provider == profile.provider && ($0.isAnswered || $0.request.bootID == vault.clock.bootID)
    }
    guard !concerned.isEmpty else { return ([], []) }
    let digest = try vault.digest(of: profile.identity, at: profile.provider)
    for var intent in concerned where !intent.signedOut.contains(digest) {
      intent.signedOut.append(digest)
      var record = intent.record
      if intent.isAnswered {
        // One that does not open brings nothing, and must not stop a sign-out.
        guard var staged = (try? staged(intent.id)) ?? nil else { continue }
        staged.intent.signedOut = intent.signedOut
        record = staged.record
      }
      records.append(.put(.vault, .importJournal, id: intent.id, record))
      memory.append(.importPut(intent))
    }
    return (records, memory)
  }
}

extension ImportJournal.Step {
  /// Steps of one kind share a commit.
  package enum Kind: CaseIterable, Sendable { case answer, begin, mark }

  package var kind: Kind {
    switch self {
    case .begin: .begin
    case .mark: .mark
    case .stage, .end: .answer
    }
  }
}
