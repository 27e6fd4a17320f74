internal import AgentModel
internal import AgentPorts
internal import AgentSimulation
internal import Foundation
internal import PracticeProvider
internal import SchemaKit
internal import StorageFaults

/// The directives, which act on the world around the conversation (Tests/Transcripts/README.md lists them).
extension Player {
  func direct(_ name: String, _ text: String) throws {
    let providers = ProviderDirectives(stage: stage, playback: playback)
    let world = WorldDirectives(stage: stage, playback: playback)
    switch name {
    case "covers", "clock": break  // read before the play begins
    case "protection": try protect(by: text)
    case "strict": try askEverybody(Arguments(text))
    case "open": try open(Arguments(text))
    case "halfclose":
      try each(text) { client in
        client.isHalfClosed = true
        client.wire.halfClose()
      }
    case "close": for name in text.split(separator: " ") { try close(String(name)) }
    case "closed":
      try each(text) { client in
        try stage.wait("the agent to close the connection") { client.wire.hasEnded }
        client.closeWasExpected = true
      }
    case "advance": try stage.advance(by: try Arguments.duration(text))
    case "wall": try world.setWall(text)
    case "reboot": try reboot(Arguments(text))
    case "provider": try providers.provider(Arguments(text, rest: "next"))
    case "user": try providers.user(Arguments(text))
    case "revoke": try providers.revoke(Arguments(text))
    case "account": try providers.account(Arguments(text))
    case "browser": try providers.browse(Arguments(text))
    case "redirect": try providers.redirect(Arguments(text))
    case "device": try providers.device(Arguments(text))
    case "refresh-token": try providers.refreshToken(Arguments(text))
    case "secret": try providers.secret(Arguments(text))
    case "network": try world.network(Arguments(text))
    case "expect-requests": try world.expectRequests(Arguments(text))
    case "disk": try world.disk(text)
    case "directory": try world.directory(Arguments(text))
    case "kill": try stop(killed: true)
    case "stop": try stop(killed: false)
    case "restart":
      try stop(killed: false)
      try stage.running()
    case "logs-exclude":
      guard let secret = Pattern.Placeholder(text), case .secret(let name) = secret, playback.bindings[name] != nil
      else {
        throw Unreadable("expected a secret that was seen: $secret:name")
      }
      try secretsAreNowhere()
    default: throw Unreadable("there is no directive @\(name)")
    }
  }

  // MARK: the agent

  private func protect(by protection: String) throws {
    guard stage.machine == nil else { throw Unreadable("@protection stands before everything that needs the agent") }
    guard ["keyFile", "passphrase"].contains(protection) else { throw Unreadable("expected keyFile or passphrase") }
    stage.made(protection: protection)
  }

  /// `@strict owner passphrase`: the agent demands a grant from every caller; the owner's grant is bound as a secret.
  private func askEverybody(_ arguments: Arguments) throws {
    guard stage.machine == nil else { throw Unreadable("@strict stands before everything that needs the agent") }
    let grant = "the-owners-grant-of-this-transcript"
    playback.bindings.bind(try arguments.word(0, "a name"), .string(grant), isSecret: true)
    stage.made(protection: (try? arguments.word(1, "")) ?? "keyFile", ownerGrant: grant)
  }

  /// Every connection ends with the agent.
  private func stop(killed: Bool) throws {
    try stage.stop(killed: killed)
    try expectations.nothingUnasked()
    stage.forgetClients()
  }

  /// `@reboot 2h wall=-3d`: the machine is off for a while, and its clock may be wrong afterwards.
  private func reboot(_ arguments: Arguments) throws {
    let off = try Arguments.duration(try arguments.word(0, "how long the machine is off"))
    try arguments.only("wall")
    try stop(killed: true)
    let world = stage.made().world
    world.clock.reboot(after: off)
    if let wall = arguments["wall"] { world.setWall(aheadBy: try Arguments.difference(wall)) }
    try stage.running()
  }

  // MARK: connections

  private func open(_ arguments: Arguments) throws {
    try arguments.only("count")
    let name = try arguments.word(0, "a connection's name")
    // `@open x count=64` opens x1 to x64.
    let names = arguments["count"].flatMap { Int($0) }.map { (1...$0).map { "\(name)\($0)" } } ?? [name]
    for name in names {
      try stage.open(name)
      expectations.validator.opened(name)
    }
  }

  private func close(_ name: String) throws {
    let client = try stage.client(name)
    client.close()
    // On a pipe the writer learns that the reader is gone only when it writes.
    let mustEnd = stage.transport != .stdio || !expectations.validator.isWaiting(on: name)
    try stage.wait("the agent to see that a client is gone") {
      guard let counts = client.wire.tap?.counts else { return true }
      return counts.isOver || (counts.hasSeenEnd && !mustEnd)
    }
  }

  private func each(_ names: String, _ body: (TranscriptClient) throws -> Void) throws {
    for name in names.split(separator: " ") { try body(try stage.client(String(name))) }
  }
}
