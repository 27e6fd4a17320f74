import CommandSupport
import JSONRPC

/// Takes entries over one by one, and goes on after a failure.
struct ImportRun {
  let store: any ImportSource
  let removes: Bool
  let common: CommonOptions
  private(set) var results: [ImportResult] = []

  init(store: any ImportSource, removes: Bool, common: CommonOptions) {
    (self.store, self.removes, self.common) = (store, removes, common)
  }

  /// False if the agent is the reason of a failure, so that the next entry would fail as well.
  mutating func take(_ entry: ImportEntry) -> Bool {
    var result = ImportResult(name: entry.name)
    do throws(CommandFailure) {
      if case .none = entry.verdict {
        result.removal = try store.remove(entry)
      } else {
        var agent = try common.connect()
        let outcome = try TakeOver(entry: entry, json: common.json).run(via: &agent)
        result.outcome = outcome
        if outcome.account != nil, removes { result.removal = try store.remove(entry) }
      }
    } catch {
      result.failure = error
    }
    if !common.json { show(result, of: entry) }
    results.append(result)
    return result.failure.map { !$0.isAgent } ?? true
  }

  private func show(_ result: ImportResult, of entry: ImportEntry) {
    if let outcome = result.outcome {
      if outcome.isProviderAdded { Output.done(Text.shown("Added the provider \(outcome.provider).")) }
      if let account = outcome.account {
        Output.done(
          Text.shown("Took over \(entry.name): \(account.person) at \(account.provider), account \(account.label)."))
      } else {
        let name = ErrorMessages.shellWord(TakeOver.alias(of: entry.name) ?? "ALIAS")
        Output.done(Text.shown("Sign in: `lanyard login \(outcome.provider) --alias \(name)`."))
        Output.note(
          Text.shown("`lanyard provider show \(outcome.provider)` shows the redirect URI that its client needs."))
      }
    }
    if result.outcome?.account != nil, result.removal == nil, let left = store.leftover(of: entry) {
      Output.done(Text.shown(left))
    }
    if let removal = result.removal {
      Output.done(Text.shown("Removed \(entry.name) from \(store.program): \(removal)."))
    }
    guard let failure = result.failure else { return }
    let isKept = result.outcome == nil
    let start = isKept ? "\(entry.name) was not taken over" : "\(entry.name) was taken over, but not removed"
    Output.instruction(Text.shown("lanyard: \(start): \(failure.message)"))
    for hint in failure.hints { Output.instruction("  \(Text.shown(hint))") }
    guard isKept else { return }
    let spent = failure.reason == "answerLost" ? ", but the token in it may be used up" : ""
    Output.instruction(Text.shown("  The store of \(store.program) was not changed\(spent)."))
  }

  /// Tells how to switch the other program over.
  ///
  /// - Throws: the failure of the whole, if an entry failed.
  func finish() throws(CommandFailure) {
    let accounts = results.compactMap { $0.outcome?.account?.label }
    if let account = accounts.first, !common.json {
      Output.note(Text.shown(store.warning(afterTaking: accounts.count)))
      for step in store.switchOver(to: accounts.count == 1 ? ErrorMessages.shellWord(account) : "ACCOUNT") {
        Output.note(Text.shown("  \(step)"))
      }
    }
    let failures = results.compactMap(\.failure)
    guard !failures.isEmpty else { return }
    let areAll = failures.count == results.count
    let status: ExitStatus =
      if areAll, failures.allSatisfy(\.isRefusedToken) {
        .signInAgain
      } else if areAll, let failure = failures.last, failure.isAgent {
        failure.status
      } else {
        .other
      }
    throw CommandFailure(status, name: "importFailed", "\(failures.count) of \(results.count) failed.")
  }
}

/// What became of one entry.
struct ImportResult {
  let name: String
  var outcome: TakeOver.Outcome?
  /// What was removed from the other program.
  var removal: String?
  /// With an `outcome` it is about the removal.
  var failure: CommandFailure?
}

extension CommandFailure {
  /// No agent answers, or its vault is locked.
  fileprivate var isAgent: Bool { status == .noAgent || status == .locked }

  /// The provider refused the refresh token or the key.
  fileprivate var isRefusedToken: Bool {
    guard let wire else { return false }
    return JSONInput.read(wire) { node in
      node["data"]?["reason"].map { $0.isText("refused") || $0.isText("secretRefused") }
    } == true
  }
}

/// What `--json` prints: the entries, and after a run what became of them.
struct ImportReport {
  let source: String
  let entries: [ImportEntry]
  var results: [ImportResult]?

  func answer() {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("source", source)
    writer.key("entries")
    writer.beginArray()
    for entry in entries {
      writer.beginObject()
      entry.write(to: &writer)
      writer.endObject()
    }
    writer.endArray()
    if let results {
      writer.key("results")
      writer.beginArray()
      for result in results { write(result, to: &writer) }
      writer.endArray()
    }
    writer.endObject()
    writer.withBytes { Output.answer(json: $0) }
  }

  private func write(_ result: ImportResult, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("name", result.name)
    writer.member("provider", result.outcome?.provider)
    if let outcome = result.outcome { writer.member("providerAdded", outcome.isProviderAdded) }
    writer.member("account", result.outcome?.account?.id)
    writer.member("alias", result.outcome?.account?.alias)
    writer.member("removed", result.removal != nil)
    if let failure = result.failure { writer.member("failure", json: failure.json) }
    writer.endObject()
  }
}
