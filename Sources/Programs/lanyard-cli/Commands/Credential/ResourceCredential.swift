import AgentCore
import AgentModel
import CommandSupport
import DirectoryFiles
import Glibc
import JSONRPC

/// The account that answers for the URL of a resource (docs/desktop.md, Which account), and its token.
struct ResourceCredential {
  let account: String

  /// Asks the agent. Nil if neither a rule nor a provider opens an account to this URL: the tool may ask another helper.
  ///
  /// - Parameters:
  ///   - address: nil for what is no URL of the web, such as `ssh://…`: no account answers for it.
  ///   - user: the name by which the tool knows the person, before that in the address.
  ///   - named: the account of `--account`; it too must be one that the URL is open to.
  static func find(
    _ address: ResourceAddress?, user: String? = nil, named: String? = nil, via agent: inout AgentConnection
  ) throws(CommandFailure) -> ResourceCredential? {
    guard let address else { return nil }
    do throws(CommandFailure) {
      return ResourceCredential(account: try choice(for: address, user: user, named: named, via: &agent).account)
    } catch {
      guard error.name == "notFound" else { throw error }
      return nil
    }
  }

  /// The agent's choice, and why.
  struct Choice {
    let account: String
    let because: String
    /// The rule's id.
    let rule: String?
    /// The agent's JSON, for `--json`.
    let json: String
  }

  static func choice(
    for address: ResourceAddress, user: String?, named: String?, via agent: inout AgentConnection
  ) throws(CommandFailure) -> Choice {
    // A helper runs without a person who could be asked about a file. One that can't be relied on stops it only where the
    // file would decide: at another host the tool asks the next helper.
    var (preferred, fault): (AccountSelection?, CommandFailure?)
    if named == nil {
      do throws(CommandFailure) { preferred = try AccountSelection.preferred() } catch { fault = error }
    }
    let choice: Choice
    do throws(CommandFailure) {
      choice = try agent.call("account.resolve") { [preferred, asksFile = fault != nil] writer in
        writer.member("url", address.text)
        writer.member("user", user ?? address.user)
        writer.member("selector", named)
        switch preferred?.reason {
        case .file?: writer.member("workingDirectory", PathBytes.workingDirectory?.wireText)
        case nil where asksFile: writer.member("workingDirectory", PathBytes.workingDirectory?.wireText)
        default: writer.member("preferred", preferred?.selector)
        }
      } result: { (result) throws(CommandFailure) in
        guard let account = result["account"]?.string, let because = result["because"]?.string else {
          throw CommandFailure.notUnderstood
        }
        return Choice(account: account, because: because, rule: result["rule"]?.string, json: result.text)
      }
    } catch {
      if let fault, ["invalidParams", "accountAmbiguous"].contains(error.name) { throw fault }
      throw preferred?.told(error) ?? error
    }
    if let fault, !["rule", "selector"].contains(choice.because) { throw fault }
    return choice
  }

  /// The account that answers for the URL, for a command that a person typed.
  ///
  /// - Throws: the failure that says what is missing.
  static func require(
    _ address: ResourceAddress, _ common: CommonOptions, via agent: inout AgentConnection
  ) throws(CommandFailure) -> ResourceCredential {
    if let found = try find(address, named: common.account, via: &agent) { return found }
    throw noneAnswers(for: address, named: common.account, via: &agent)
  }

  /// - Parameter named: the account of `--account`; nil for the active one.
  static func noneAnswers(
    for address: ResourceAddress, named: String?, via agent: inout AgentConnection
  ) -> CommandFailure {
    let hint =
      if let pattern = address.pattern {
        "Choose one: `lanyard rule add \(ErrorMessages.shellWord(pattern)) ACCOUNT`."
      } else if address.url.isLoopback {
        "A server on this machine is named by its provider: "
          + (allowance(of: named, via: &agent).map { "`\($0.command(addingOrigin: address.url.origin))`." }
            ?? "`lanyard provider update --help` tells how.")
      } else {
        "A token goes over https alone."
      }
    return CommandFailure(
      .other, name: "notFound", "No account answers for \(Text.shown(address.text)). Nothing was printed.",
      hints: [hint])
  }

  /// Of the account's provider; nil if one of them can't be read.
  private static func allowance(of named: String?, via agent: inout AgentConnection) -> ProviderAllowance? {
    (try? AccountInfo.named(named ?? "@active", via: &agent)).flatMap {
      ProviderAllowance(of: $0.provider, via: &agent)
    }
  }

  /// The account that a command without a URL uses.
  static func chosen(
    _ common: CommonOptions, via agent: inout AgentConnection
  ) throws(CommandFailure) -> ResourceCredential {
    let selection = try AccountSelection.choose(argument: common.account)
    return ResourceCredential(account: try selection.located(via: &agent))
  }

  /// Gets an access token and passes it to `body`.
  func token<Result>(
    via agent: inout AgentConnection, leastSeconds: Int? = nil,
    _ body: (IssuedCredential) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    let account = account
    return try agent.call("token.get") { writer in
      writer.member("account", account)
      writer.member("minimumLifetimeSeconds", leastSeconds)
    } result: { (result) throws(CommandFailure) in
      guard ["bearer", "secret"].contains(result["tokenType"]?.string?.lowercased() ?? "bearer") else {
        throw CommandFailure(
          .other, name: "boundToken",
          "The tokens of this account are bound to a key (DPoP), so this tool can't use them. Nothing was sent.")
      }
      return try body(try IssuedCredential(result, in: "accessToken"))
    }
  }

  /// The user name beside the token of an account that holds no secret, where a server wants Basic authentication.
  func usualUsername(
    for address: ResourceAddress, via agent: inout AgentConnection
  ) throws(CommandFailure) -> String {
    // A grant may give the token and not tell of the account.
    let isInstallation = try AccountInfo.told(account, via: &agent)?.isInstallation == true
    return isInstallation ? PlaceholderUser.ofSecret : PlaceholderUser.name(for: address.url)
  }

  /// Gets an ID token and passes it to `body`.
  func identity<Result>(
    via agent: inout AgentConnection, _ body: (IssuedCredential) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    let account = account
    return try agent.call("identity.get", params: { $0.member("account", account) }) {
      (result) throws(CommandFailure) in try body(try IssuedCredential(result, in: "idToken"))
    }
  }
}

/// A token or a secret in an answer of the agent. No String is made of it.
struct IssuedCredential {
  private let answer: JSONNode
  private let secret: HeldBytes
  /// A key or a password, and no token of OAuth.
  let isSecret: Bool
  /// Where it stands in a request.
  let placement: SecretPlacement
  /// The account's or its provider's, for a secret.
  private let username: String?

  /// The user name beside it where a server wants Basic authentication.
  ///
  /// - Parameters:
  ///   - asked: the one that the tool knows.
  ///   - usual: what goes with a token of OAuth.
  func username(asked: String?, usual: String) -> String {
    asked ?? (isSecret ? username ?? PlaceholderUser.ofSecret : usual)
  }

  /// - Throws: a failure if a character of the token could end a line or a header field.
  init(_ answer: JSONNode, in member: StaticString) throws(CommandFailure) {
    isSecret = answer["tokenType"]?.string == "secret"
    let least: UInt8 = isSecret ? 0x20 : 0x21
    let most: UInt8 = isSecret ? 0xFF : 0x7E
    guard let secret = HeldBytes(answer[member]),
      secret.withBytes({ $0.allSatisfy { least...most ~= $0 && $0 != 0x7F } }),
      let placement = answer["placement"].map({ SecretPlacement($0) }) ?? .bearer
    else { throw CommandFailure.notUnderstood }
    self.answer = answer
    self.secret = secret
    self.placement = placement
    username = answer["placement"]?["username"]?.string
  }

  /// On this machine's clock, by which the tools count; `expiresAt` of the answer is on the provider's.
  var expiresAt: Moment? { expiresInSeconds.map { Moment(seconds: Moment.now.seconds + $0) } }

  /// By the agent's clock, whatever this machine's is set to.
  var expiresInSeconds: Int? { answer["expiresInSeconds"]?.integer.map { Int(clamping: $0) } }

  var fingerprint: String? { answer["fingerprint"]?.string }

  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { secret.withBytes(body) }
}

extension JSONWriter {
  mutating func text(_ credential: IssuedCredential) { credential.withBytes { verbatim($0) } }

  /// The credential as a member: its field and the value of it. `isList`: as a list of one value.
  ///
  /// - Throws: for one that stands in the URL, where no field can have it.
  mutating func field(_ credential: IssuedCredential, isList: Bool = false) throws(CommandFailure) {
    guard let name = credential.placement.fieldName else {
      throw .elsewhere("The key of this account stands in the URL, so no header field has it.")
    }
    key(name)
    if isList { beginArray() }
    fieldValue(of: credential)
    if isList { endArray() }
  }

  /// A member with the value of `Authorization`.
  ///
  /// - Throws: for a credential that stands elsewhere.
  mutating func authorization(_ name: StaticString, _ credential: IssuedCredential) throws(CommandFailure) {
    guard credential.placement.fieldName?.lowercased() == "authorization" else {
      throw .elsewhere("The key of this account does not stand in the field Authorization, where this tool sends it.")
    }
    key(name)
    fieldValue(of: credential)
  }

  private mutating func fieldValue(of credential: IssuedCredential) {
    let value = HeldBytes(capacity: 4096)
    credential.withBytes { bytes in credential.placement.writeField(bytes) { value.append($0) } }
    value.withBytes { string(utf8: $0) }
  }

  /// A member whose value is `prefix` and the token.
  mutating func member(_ name: StaticString, _ prefix: String = "", _ credential: IssuedCredential) {
    key(name)
    string(prefix, credential)
  }

  mutating func string(_ prefix: String, _ credential: IssuedCredential) {
    var value = JSONWriter()
    value.text(prefix)
    value.text(credential)
    value.withBytes { string(utf8: $0) }
  }

  /// Writes everything to stdout. The memory is wiped when the writer goes.
  func answer() throws(CommandFailure) {
    withBytes { Output.answer(bytes: $0) }
    try Output.checkAnswer()
  }
}

extension CommandFailure {
  /// The tool can't put the credential where the server looks for it.
  fileprivate static func elsewhere(_ sentence: String) -> CommandFailure {
    CommandFailure(
      .other, name: "notAField", sentence + " Nothing was printed.",
      hints: ["`lanyard request` and `lanyard exec --proxy` put it there."])
  }
}
