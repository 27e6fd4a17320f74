/// Puts the agent's messages into the words of the command line.
///
/// The agent speaks to programs, so its messages name methods of the contract. A person types commands.
public enum CommandWords {
  /// `text` with every method name replaced by the command that calls the method, in backticks.
  public static func translated(_ text: String) -> String {
    var shown = ""
    var rest = text[...]
    while let first = rest.first {
      guard first.isASCII, first.isLetter else {
        shown.append(rest.removeFirst())
        continue
      }
      var word = rest.prefix { $0.isASCII && ($0.isLetter || $0 == ".") }
      rest = rest.dropFirst(word.count)
      let dots = word.reversed().prefix { $0 == "." }.count
      word = word.dropLast(dots)
      append(String(word), to: &shown)
      shown += String(repeating: ".", count: dots)
    }
    return shown
  }

  private static func append(_ word: String, to shown: inout String) {
    // `/etc/lanyard/agent.json` is a file.
    let isPartOfName = shown.last.map { "/-_.".contains($0) || $0.isNumber } == true
    guard !isPartOfName, let command = command(for: word) else { return shown += word }
    let isQuoted = shown.count(where: { $0 == "`" }) % 2 == 1
    if shown.hasSuffix(rawCall) { shown.removeLast(rawCall.count) }
    shown += isQuoted ? command : "`\(command)`"
  }

  /// The command that calls a method. A method without a command of its own is called by `lanyard rpc`. Nil for words
  /// that are not method names.
  static func command(for method: String) -> String? {
    let parts = method.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[1].isEmpty, namespaces.contains(String(parts[0])),
      !EventTypes.all.contains(method)
    else { return nil }
    return commands[method] ?? rawCall + method
  }

  private static let rawCall = "lanyard rpc "

  private static let namespaces: Set<String> = [
    "access", "account", "agent", "approval", "audit", "authorization", "connectivity", "credential", "event", "exec",
    "grant", "identity", "metrics", "operation", "policy", "provider", "request", "revocation", "rpc", "rule",
    "secret", "session", "signIn", "snapshot", "stepUp", "token",
  ]

  private static let commands: [String: String] = [
    "access.decide": "lanyard approvals allow",
    "access.list": "lanyard approvals",
    "account.add": "lanyard login",
    "account.forget": "lanyard forget",
    "account.get": "lanyard list",
    "account.list": "lanyard list",
    "account.rename": "lanyard rename",
    "account.replace": "lanyard rotate",
    "account.resolve": "lanyard status",
    "account.signOut": "lanyard logout",
    "account.switch": "lanyard switch",
    "agent.addKeySlot": "lanyard key add",
    "agent.backup": "lanyard backup",
    "agent.diagnose": "lanyard doctor",
    // A command says its grant from the file that this variable names.
    "agent.hello": "LANYARD_GRANT_FILE",
    "agent.initialize": "lanyard unlock",
    "agent.listKeySlots": "lanyard key list",
    "agent.lock": "lanyard lock",
    "agent.removeKeySlot": "lanyard key remove",
    "agent.restore": "lanyard restore",
    "agent.rotateRootKey": "lanyard key rotate",
    "agent.shutdown": "lanyard stop",
    "agent.status": "lanyard status",
    "agent.unlock": "lanyard unlock",
    "approval.decide": "lanyard approvals allow",
    "approval.list": "lanyard approvals",
    "audit.list": "lanyard audit",
    "audit.verify": "lanyard audit --verify",
    "authorization.check": "lanyard can",
    "authorization.checkMany": "lanyard can",
    "connectivity.get": "lanyard status",
    "credential.aws": "lanyard credential aws",
    "event.subscribe": "lanyard events",
    "event.unsubscribe": "lanyard events",
    "exec.begin": "lanyard exec",
    "grant.create": "lanyard grant create",
    "grant.list": "lanyard grant list",
    "grant.revoke": "lanyard grant revoke",
    "identity.get": "lanyard token --id",
    "metrics.read": "lanyard metrics --json",
    "operation.cancel": "lanyard operations cancel",
    "operation.get": "lanyard operations show",
    "operation.list": "lanyard operations",
    "operation.retry": "lanyard operations retry",
    "policy.explain": "lanyard policy explain",
    "policy.get": "lanyard policy show",
    "policy.list": "lanyard policy list",
    "policy.refresh": "lanyard policy refresh",
    "policy.set": "lanyard policy set",
    "policy.validate": "lanyard policy check",
    "provider.add": "lanyard provider add",
    "provider.discover": "lanyard provider add",
    "provider.get": "lanyard provider show",
    "provider.list": "lanyard provider list",
    "provider.remove": "lanyard provider remove",
    "provider.test": "lanyard provider test",
    "provider.update": "lanyard provider update",
    "request.send": "lanyard request",
    "revocation.abandon": "lanyard revocations abandon",
    "revocation.list": "lanyard revocations",
    "revocation.retry": "lanyard revocations send",
    "rule.add": "lanyard rule add",
    "rule.list": "lanyard rule list",
    "rule.remove": "lanyard rule remove",
    "session.get": "lanyard status",
    "signIn.begin": "lanyard login",
    "signIn.cancel": "lanyard login",
    "signIn.complete": "lanyard login --paste",
    "signIn.import": "lanyard login --import",
    "signIn.wait": "lanyard login",
    "snapshot.get": "lanyard can",
    "snapshot.refresh": "lanyard can --wait 10",
    "stepUp.clear": "lanyard step-up --clear",
    "stepUp.enroll": "lanyard step-up --enroll",
    "stepUp.status": "lanyard step-up --status",
    "stepUp.unenroll": "lanyard step-up --remove",
    "stepUp.verify": "lanyard step-up",
    "token.get": "lanyard token",
    "token.refresh": "lanyard token --force",
  ]
}
