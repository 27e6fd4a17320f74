/// What each command prints with `--json`. A result of a method is described in `Schemas/generated/reference.md`.
enum JSONShapes {
  /// By the command's words after `lanyard`.
  static let all: KeyValuePairs = [
    "account set": "{account, browser?, units?}",
    "account show": "{account, browser?, units?}",
    "approvals allow": "the result of `approval.decide` or `access.decide`",
    "approvals deny": "the result of `approval.decide` or `access.decide`",
    "approvals list":
      "{approvals: [those of `approval.list`], requests: [those of `access.list`]}; with --watch a line after each change",
    "audit": "{entries: [the entries of `audit.list`]}; with --verify the result of `audit.verify`",
    "backup": "the result of `agent.backup`",
    "can": "the decision of `authorization.check`",
    "doctor": "{ok, findings: [{check, severity, subject?, account?, message, remedies: [text]}]}",
    "events": "an event a line, as in the notification `event`; with --position first the result of `event.subscribe`",
    "export":
      "with --status {destinations: [{name, running, sequence?, log?, exported?, dropped?, refused?, exportedAt?, waiting?, problem?}]}",
    "forget": "the result of `account.forget`",
    "grant create": "the result of `grant.create`, without the secret if it went into a file",
    "grant list": "the result of `grant.list`",
    "grant revoke": "the result of `grant.revoke`",
    "import":
      "{source, entries: [{name, importable, …}], results?: [{name, provider, providerAdded, account, alias, removed, failure?}]}",
    "key add": "the result of `agent.addKeySlot`",
    "key list": "the result of `agent.listKeySlots`",
    "key remove": "the result of `agent.removeKeySlot`",
    "key rotate": "the result of `agent.rotateRootKey`",
    "list": "the result of `account.list`",
    "lock": "the result of `agent.lock`",
    "login": "the account, as in `account.get`; before it on stderr a line with the page to open or the code to enter",
    "logout": "the result of `account.signOut`; with --all an array of these",
    "metrics": "the result of `metrics.read`",
    "operations cancel": "the result of `operation.cancel`",
    "operations export": "the members of the operation with its payload",
    "operations list": "{operations: [the operations of `operation.list`]}",
    "operations retry": "the result of `operation.retry`",
    "operations show": "the result of `operation.get`",
    "policy check": "the result of `policy.validate`",
    "policy draft": "the result of `policy.draft`",
    "policy explain": "the result of `policy.explain`",
    "policy list": "the result of `policy.list`",
    "policy refresh": "the result of `policy.refresh`",
    "policy set": "the result of `policy.set`",
    "policy show": "the result of `policy.get`",
    "prompt": "{label, state, sign}; nothing without an agent",
    "provider add": "the result of `provider.add`",
    "provider list": "the result of `provider.list`",
    "provider pin": "{host, pins, keyInUse?}; for a change the result of `provider.update`",
    "provider presets": "{presets: [name], servers: [{name, title, issuer?, …}]}",
    "provider remove": "the result of `provider.remove`",
    "provider show": "the result of `provider.get`",
    "provider test": "{ok, findings: [{check, severity, subject?, account?, message, remedies: [text]}]}",
    "provider update": "the result of `provider.update`",
    "proxy":
      "{address or socket, url?, certificate?, grant?, accounts: [id], origins: [origin], passOrigins?: [origin], placeholders?: {variable: text}}",
    "rename": "the result of `account.rename`",
    "rotate": "the result of `account.replace`",
    "request": "the result of `request.send`",
    "resolve": "the result of `account.resolve`",
    "restore": "the result of `agent.restore`",
    "service install": "{unit, directory?}: the directory of units that were written",
    "service uninstall": "{}",
    "revocations abandon": "the result of `revocation.abandon`",
    "revocations list": "the result of `revocation.list`",
    "revocations send": "the result of `revocation.retry`",
    "rpc": "the result of the method, with and without --json",
    "rule add": "the result of `rule.add`",
    "rule list": "the result of `rule.list`",
    "rule remove": "{removed: [rule]}",
    "sandbox":
      "with --show {directory, home, read: [path], write: [path], keep: [{directory, stored}], network, origins: [origin], passOrigins: [origin], env: [name]}",
    "setup":
      "{tools: [{tool, name?, project?, url?, account?, works, problem?}]}; for a tool {written: [{place, lines}]}, or {removed: …}",
    "status": "{agent, selection: {account?, selector, because, path?, trusted?}, account?, session?, problem?}",
    "step-up": "the result of the method of `stepUp` that was called",
    "stop": "{}",
    "switch": "the result of `account.switch`",
    "token": "the result of `token.get`; with --id that of `identity.get`",
    "trust": "{path, account?, trusted}; with --list {trusted: [path]}",
    "ui": "{url, address, expiresInSeconds}",
    "unlock": "the result of `agent.unlock`",
  ]

  /// Commands whose answer is for one tool, or no answer: --json is about their errors alone.
  static let without = ["completion", "demo", "exec", "man", "mcp", "notify"]

  static func of(_ command: String) -> String? { all.first { $0.key == command }?.value }
}
