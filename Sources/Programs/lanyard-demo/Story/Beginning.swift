import Foundation
import PracticeProvider

/// First steps: start the agent, sign in, switch accounts.
extension Story {
  func startAgent() throws {
    narrator.heading("An agent, when it is needed")
    narrator.say(
      """
      Nothing runs yet. The first command starts the agent, which creates its store: SQLite, every record sealed, the \
      key in a file beside it. The settings say how the provider treats a used refresh token: this one accepts a \
      second use for 30 s.
      """)
    try write(
      "practice.json",
      """
      {"issuer": "\(stage.server.issuer)", "clientId": "lanyard-demo",
       "scopes": ["openid", "profile", "email", "offline_access"],
       "tenant": {"claim": "tid"}, "refresh": {"reuse": "grace", "graceSeconds": 30}}
      """)
    try run("lanyard", "provider", "add", "practice", "--from", "practice.json", saying: "Added practice")
    guard let pid = stage.agentPid else { throw NotAsTold("the command started no agent") }
    narrator.checked("An agent runs, with process id \(pid). Its socket and its store are yours alone.")
    for path in ["\(stage.directory)/run/lanyard", stage.stateDirectory] {
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      try check(mode == 0o700, "\(path) is open to others")
    }
  }

  func signIn() throws {
    narrator.heading("Signing in")
    narrator.say(
      """
      Authorization code with PKCE: your browser signs in and returns to a port of this machine. Only the provider's \
      page sees the password, only the agent sees the refresh token.
      """)
    try signIn("alice", of: "acme", alias: "work")
    narrator.next("A second person, of another tenant. His access tokens live for only 61 s.")
    stage.provider.configure { $0.accessTokenLifetimeSeconds = Self.shortLifetimeSeconds }
    try signIn("bob", of: "globex", alias: "home")
    shortTokenIssued = .now
  }

  private func signIn(_ name: String, of tenant: String, alias: String) throws {
    let words = ["lanyard", "login", "practice", "--no-browser", "--alias", alias]
    narrator.command(Self.typed(words))
    let login = try stage.start(words)
    let address = try login.errors { text in
      text.firstMatch(of: #/(https?://\S+/authorize\S+)\n/#).map { String($0.1) }
    }
    if byHand {
      narrator.output("\n  \(address)\n\n  Sign in there as \(name) of \(tenant); the password is \(name).")
    } else {
      narrator.output("Open this page in a browser on this machine: \(address.prefix(60))…")
      let title = try Browser().signIn(at: address, name: "\(name)@\(tenant)", password: name)
      narrator.checked(
        "The demo's browser signs in as \(name)@\(tenant) and ends at a page of the agent: “\(title)”.")
    }
    let ended = login.end()
    narrator.output(ended.output)
    try check(ended.status == 0, "the sign-in ended with \(ended.status): \(ended.text)")
    try check(ended.output.contains("account \(alias)"), "the account is not called \(alias): \(ended.output)")
  }

  func listAndSwitch() throws {
    narrator.heading("Two badges")
    narrator.say(
      "A command uses the account that it names, else the active one. `status` shows which one, and why.")
    let list = try run("lanyard", "list").output
    for word in ["work", "acme", "home", "globex"] { try check(list.contains(word), "the list does not show \(word)") }
    try run("lanyard", "switch", "work")
    try run("lanyard", "switch", "home", saying: "home")
    try run("lanyard", "status", saying: "as the active account")
  }
}
