internal import AgentModel
internal import AgentPorts
internal import AgentSimulation
internal import StorageFaults

/// Directives about the machine around the agent: clock, disk, network, directories.
struct WorldDirectives {
  let stage: Stage
  let playback: Playback

  /// `@wall -3d`, `@wall true`: sets the wall clock against the true time, or corrects it.
  func setWall(_ text: String) throws {
    let world = try stage.running().world
    world.setWall(aheadBy: try Arguments.difference(text))
    world.settle()
  }

  func disk(_ state: String) throws {
    let disk = try stage.running().world.disk
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

  func network(_ arguments: Arguments) throws {
    let network = try stage.running().world.network
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
  func expectRequests(_ arguments: Arguments) throws {
    let path = try arguments.word(0, "a path")
    let wanted = Int(try arguments.word(1, "a number"))
    let found = try stage.running().world.network.count(path)
    guard wanted != found else { return }
    guard playback.edits != nil else {
      throw Unreadable("expected \(wanted ?? 0) requests to \(path), there were \(found)")
    }
    playback.replacePlace(with: "@expect-requests \(path) \(found)")
  }

  func directory(_ arguments: Arguments) throws {
    try stage.running().directories.set(try arguments.word(0, "a directory"), try arguments.word(1, "an account"))
  }
}
