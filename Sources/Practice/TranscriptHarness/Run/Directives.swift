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
        try wait("the agent to close the connection") { client.wire.hasEnded }
        client.closeWasExpected = true
      }
    case "advance": try advance(by: try Arguments.duration(text))
    case "wall": try setWall(text)
    case "reboot": try reboot(Arguments(text))
    case "provider": try provider(Arguments(text, rest: "next"))
    case "user": try user(Arguments(text))
    case "revoke": try revoke(Arguments(text))
    case "account": try account(Arguments(text))
    case "browser": try browse(Arguments(text))
    case "redirect": try redirect(Arguments(text))
    case "device": try device(Arguments(text))
    case "refresh-token": try refreshToken(Arguments(text))
    case "network": try network(Arguments(text))
    case "expect-requests": try expectRequests(Arguments(text))
    case "disk": try disk(text)
    case "directory": try directory(Arguments(text))
    case "kill": try stop(killed: true)
    case "stop": try stop(killed: false)
    case "restart":
      try stop(killed: false)
      try running()
    case "logs-exclude":
      guard let secret = Pattern.Placeholder(text), case .secret(let name) = secret, bindings[name] != nil else {
        throw Unreadable("expected a secret that was seen: $secret:name")
      }
      try secretsAreNowhere()
    default: throw Unreadable("there is no directive @\(name)")
    }
  }

  // MARK: the agent

  /// The machine, with a running agent.
  @discardableResult
  func running() throws -> Machine {
    let machine = made()
    try machine.start()
    return machine
  }

  private func made(protection: String = "keyFile", ownerGrant: String? = nil) -> Machine {
    if let machine { return machine }
    let new = Machine(
      seed: seed, start: clockStart, protection: protection, ownerGrant: ownerGrant,
      transport: transport, wakeSignal: wakeSignal)
    machine = new
    return new
  }

  private func protect(by protection: String) throws {
    guard machine == nil else { throw Unreadable("@protection stands before everything that needs the agent") }
    guard ["keyFile", "passphrase"].contains(protection) else { throw Unreadable("expected keyFile or passphrase") }
    _ = made(protection: protection)
  }

  /// `@strict owner passphrase`: the agent demands a grant from every caller; the owner's grant is bound as a secret.
  private func askEverybody(_ arguments: Arguments) throws {
    guard machine == nil else { throw Unreadable("@strict stands before everything that needs the agent") }
    let grant = "the-owners-grant-of-this-transcript"
    bindings.bind(try arguments.word(0, "a name"), .string(grant), isSecret: true)
    _ = made(protection: (try? arguments.word(1, "")) ?? "keyFile", ownerGrant: grant)
  }

  /// Every connection ends with the agent.
  private func stop(killed: Bool) throws {
    if killed { for client in wires.values { client.close() } }
    try machine?.stop(killed: killed) { try wait($0, until: $1) }
    for client in wires.values { client.close() }
    try nothingUnasked()
    wires = [:]
  }

  private func advance(by duration: Milliseconds) throws {
    let machine = try running()
    machine.world.advance(by: duration)
    try machine.endpoint?.judgeDeadlines { try wait($0, until: $1) }
  }

  /// `@wall -3d`, `@wall true`: sets the wall clock against the true time, or corrects it.
  private func setWall(_ text: String) throws {
    let world = try running().world
    world.setWall(aheadBy: try Arguments.difference(text))
    world.settle()
  }

  /// `@reboot 2h wall=-3d`: the machine is off for a while, and its clock may be wrong afterwards.
  private func reboot(_ arguments: Arguments) throws {
    let off = try Arguments.duration(try arguments.word(0, "how long the machine is off"))
    try arguments.only("wall")
    try stop(killed: true)
    let world = made().world
    world.clock.reboot(after: off)
    if let wall = arguments["wall"] { world.setWall(aheadBy: try Arguments.difference(wall)) }
    try running()
  }

  // MARK: connections

  private func open(_ arguments: Arguments) throws {
    try arguments.only("count")
    let name = try arguments.word(0, "a connection's name")
    // `@open x count=64` opens x1 to x64.
    let names = arguments["count"].flatMap { Int($0) }.map { (1...$0).map { "\(name)\($0)" } } ?? [name]
    for name in names {
      if let old = wires[name] {
        guard old.isClosed || old.wire.hasEnded else { throw Unreadable("\(name) is open already") }
        old.close()
      }
      validator.opened(name)
      guard let endpoint = try running().endpoint else { throw Unreadable("no agent runs") }
      wires[name] = TranscriptClient(try endpoint.open { try wait($0, until: $1) })
    }
  }

  private func close(_ name: String) throws {
    let client = try client(name)
    client.close()
    // On a pipe the writer learns that the reader is gone only when it writes.
    let mustEnd = transport != .stdio || !validator.isWaiting(on: name)
    try wait("the agent to see that a client is gone") {
      guard let counts = client.wire.tap?.counts else { return true }
      return counts.isOver || (counts.hasSeenEnd && !mustEnd)
    }
  }

  private func each(_ names: String, _ body: (TranscriptClient) throws -> Void) throws {
    for name in names.split(separator: " ") { try body(try client(String(name))) }
  }

  // MARK: the world

  private func disk(_ state: String) throws {
    let disk = try running().world.disk
    switch state {
    case "ok":
      disk.setCapacity(nil)
      disk.setReadOnly(false)
      disk.withdrawPlan()
    case "full": disk.setCapacity(0)
    case "read-only": disk.setReadOnly(true)
    case "failing": disk.plan(.fail(.inputOutput, once: false), at: disk.operations + 1)
    default: throw Unreadable("expected ok, full, read-only or failing")
    }
  }

  private func network(_ arguments: Arguments) throws {
    let network = try running().world.network
    switch try arguments.word(0, "online, offline, or a path") {
    case "online": network.isOnline = true
    case "offline": network.isOnline = false
    case let path:
      switch try arguments.word(1, "what happens to the next request") {
      case "refused": network.next(path, .notConnected(.refused))
      case "untrusted": network.next(path, .untrusted(.unknownAuthority))
      case "lost-request": network.next(path, .lostRequest(.reset))
      case "lost-answer": network.next(path, .lostAnswer(.reset))
      case "delay": network.next(path, .delay(try Arguments.duration(try arguments.word(2, "a duration"))))
      default: throw Unreadable("expected refused, untrusted, lost-request, lost-answer or delay")
      }
    }
  }

  /// `@expect-requests /token 2`: the number of requests sent since the transcript began.
  private func expectRequests(_ arguments: Arguments) throws {
    let path = try arguments.word(0, "a path")
    let wanted = Int(try arguments.word(1, "a number"))
    let found = try running().world.network.count(path)
    guard wanted != found else { return }
    guard edits != nil else { throw Unreadable("expected \(wanted ?? 0) requests to \(path), there were \(found)") }
    replacePlace(with: "@expect-requests \(path) \(found)")
  }

  private func directory(_ arguments: Arguments) throws {
    try running().directories.set(try arguments.word(0, "a directory"), try arguments.word(1, "an account"))
  }
}
