import AgentModel
import ArgumentParser
import CommandSupport
import JSONRPC

/// The options of commands that take a secret: `lanyard login` at a provider of keys, and `lanyard rotate`.
struct SecretOptions: ParsableArguments {
  @Option(
    name: .customLong("key-file"),
    help: ArgumentHelp(
      "The file of the key or password; - reads stdin. Default: asked for, and not shown.", valueName: "file"),
    completion: .file())
  var keyFile: String?

  @Option(
    name: .customLong("expires"),
    help: ArgumentHelp("When the key ends: 2030-06-30, or an instant such as 2030-06-30T12:00:00Z.", valueName: "date"))
  var expires: String?

  func validate() throws {
    if let expires, Self.instant(expires) == nil {
      throw ValidationError("--expires takes a date such as 2030-06-30, or an instant such as 2030-06-30T12:00:00Z.")
    }
  }

  /// The person is asked for the secret.
  var asks: Bool { keyFile ?? "-" == "-" && Terminal.canAsk }

  /// The secret; a terminal does not show what is typed.
  ///
  /// - Parameter page: shown before, where the person is asked.
  func read(question: String, page: KeyPage?) throws(CommandFailure) -> SecretInput {
    if asks { page?.show() }
    return try SecretInput.line(of: keyFile ?? "-", question: question)
  }

  func write(_ secret: borrowing SecretInput, to writer: inout JSONWriter) {
    writer.key("secret")
    secret.withBytes { writer.string(utf8: $0) }
    writer.member("expiresAt", expires.flatMap(Self.instant))
  }

  /// In the form of the contract. A day counts from its beginning: a key that is told to end too early does no harm.
  private static func instant(_ text: String) -> String? {
    let isDay = text.utf8.count == 10
    guard let moment = Moment(isDay ? text + "T00:00:00Z" : text), moment.rfc3339.hasPrefix(text.prefix(10)) else {
      return nil
    }
    return moment.rfc3339
  }
}

/// Adds a secret that the person was given as an account, or gives it to the account that they named.
struct GivenSecret {
  let provider: ProviderInfo
  /// The account that was named: it gets the secret, or none does.
  var account: String?
  var alias: String?
  var username: String?
  let options: SecretOptions
  var page: KeyPage?

  /// Sends the secret; returns the id of its account.
  func handOver(to agent: inout AgentConnection) throws(CommandFailure) -> String {
    let account = try account.map { (name) throws(CommandFailure) in try AccountInfo.named(name, via: &agent) }
    if let account, account.provider != provider.name {
      throw .usage(Text.shown("\(account.label) is an account at \(account.provider). Nothing was changed."))
    }
    let what = account?.takesItsOwnKeyAlone == true ? "The same key or password as before" : "Key or password"
    let secret = try options.read(question: "\(what) for \(account?.label ?? provider.name) (not shown): ", page: page)
    let username = try username == nil && account?.username == nil ? askedUsername() : username
    do throws(CommandFailure) {
      return try agent.call(account == nil ? "account.add" : "account.replace") { writer in
        options.write(secret, to: &writer)
        writer.member("username", username)
        if let account { return writer.member("account", account.id) }
        writer.member("provider", provider.name)
        writer.member("alias", alias)
      } result: { (result) throws(CommandFailure) in
        guard let account = result["account"]?.string else { throw CommandFailure.notUnderstood }
        return account
      }
    } catch {
      throw error.naming(provider).offeringAnotherKey(at: provider, for: account)
    }
  }

  /// The user name that HTTP Basic needs and nothing tells; nil where none is needed, or no person can be asked.
  private func askedUsername() throws(CommandFailure) -> String? {
    guard case .basic? = provider.placement, provider.username == nil, options.asks else { return nil }
    guard let line = Terminal.ask("User name: ") else { throw Interruption.failure }
    let name = line.filter { !$0.isNewline && $0 != "\t" }
    return name.isEmpty ? nil : name
  }
}
