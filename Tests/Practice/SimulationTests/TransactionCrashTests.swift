import AgentModel
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// A change of the directory is stored whole or not at all, after a fault at any disk operation.
@Suite struct TransactionCrashTests {
  static let faults: [SimulatedDisk.Fault] = [
    .die(.kill), .die(.powerLoss(seed: 1)), .die(.powerLoss(seed: 2)), .fail(.inputOutput, once: true),
    .fail(.inputOutput, once: false), .fail(.full, once: false),
  ]

  /// The lists of accounts and providers: enough to compare two states of the directory.
  static func directory(_ world: SimulatedWorld) async throws -> String {
    let client = try world.client()
    defer { client.disconnect() }
    let accounts = await client.call("account.list")
    let providers = await client.call("provider.list")
    let shown = (accounts.result?["accounts"]?.arrayValue ?? []).map { account in
      ["alias", "subject", "state", "active", "expiresAt"].map { name in
        let text = account[name]?.text ?? "-"
        // The digest in the subject of an erased account differs between vaults.
        return text.contains("erased:") ? "erased" : text
      }.joined(separator: " ")
    }
    let names = (providers.result?["providers"]?.arrayValue ?? []).map { $0["name"]?.stringValue ?? "" }
    return (shown + names.sorted()).joined(separator: "\n")
  }

  /// Makes `change` with the fault at operation 1, 2, 3, … and compares the directory after a restart.
  private func check(
    _ fault: SimulatedDisk.Fault, _ prepare: @escaping @Sendable (SimulatedWorld) async throws -> SimulatedProvider,
    _ change: @escaping @Sendable (SimulatedWorld, SimulatedProvider) async throws -> Bool
  ) throws {
    let (old, new) = try SimulatedWorld(seed: 99).run { world in
      let provider = try await prepare(world)
      let old = try await Self.directory(world)
      #expect(try await change(world, provider))
      return (old, try await Self.directory(world))
    }
    #expect(old != new)
    for step in FaultSteps.asked {
      let comment: Comment = "\(fault) at \(step)"
      let reached = try SimulatedWorld(seed: UInt64(step)).run { world in
        let provider = try await prepare(world)
        let before = world.disk.operations
        world.failDisk(fault, at: step)
        let done = try await change(world, provider)
        let reached = world.disk.operations - before >= step
        if world.isRunning, !done {
          // A failed change is not visible, also to immediate requests.
          let shown = try await Self.directory(world)
          #expect(shown == old || shown.isEmpty, "\(comment): answered as failed, and shown as done")
        }
        try await world.restart()
        let found = try await Self.directory(world)
        #expect(found == old || found == new, "\(comment): \(found)")
        if done { #expect(found == new, "\(comment): acknowledged and lost") }
        // The agent works on: the change can be made now, or is there already.
        if found == old {
          #expect(try await change(world, provider), comment)
          #expect(try await Self.directory(world) == new, comment)
        }
        return reached
      }
      guard reached else { break }
      try #require(step < 300)
    }
  }

  private static func call(_ world: SimulatedWorld, _ method: String, _ params: String) async throws -> Bool {
    let client = try world.client()
    defer { client.disconnect() }
    let answer = await client.call(method, params)
    #expect(answer.isLost || answer.error == nil || answer.code == 5001, "\(answer)")
    return answer.result != nil
  }

  private static func twoAccounts(_ world: SimulatedWorld) async throws -> SimulatedProvider {
    let provider = try await world.provider("idp")
    try await world.signIn("alice", at: provider, alias: "work")
    await world.clock.sleep(for: .seconds(1))
    try await world.signIn("bob", at: provider, alias: "home")
    return provider
  }

  @Test(arguments: faults) func switchWithADiskFault_isWholeOrAbsent(fault: SimulatedDisk.Fault) throws {
    try check(fault, Self.twoAccounts) { world, _ in
      try await Self.call(world, "account.switch", #"{"account":"home"}"#)
    }
  }

  @Test(arguments: faults) func renameWithADiskFault_isWholeOrAbsent(fault: SimulatedDisk.Fault) throws {
    try check(fault, Self.twoAccounts) { world, _ in
      try await Self.call(world, "account.rename", #"{"account":"home","alias":"private"}"#)
    }
  }

  @Test(arguments: faults) func providerAddWithADiskFault_isWholeOrAbsent(fault: SimulatedDisk.Fault) throws {
    try check(fault, Self.twoAccounts) { world, _ in
      let provider = world.makeProvider("second")
      return try await Self.call(
        world, "provider.add", #"{"name":"second","issuer":"\#(provider.idp.issuer)","clientId":"lanyard-demo"}"#)
    }
  }

  @Test(arguments: faults) func firstSignInWithADiskFault_isWholeOrAbsent(fault: SimulatedDisk.Fault) throws {
    try check(fault, { try await $0.provider("idp") }) { world, provider in
      let signedIn = try? await world.signIn("alice", at: provider, alias: "work")
      return signedIn != nil
    }
  }

  @Test(arguments: faults) func furtherSignInWithADiskFault_isWholeOrAbsent(fault: SimulatedDisk.Fault) throws {
    try check(fault, Self.twoAccounts) { world, provider in
      let signedIn = try? await world.signIn("carol", at: provider, alias: "third")
      return signedIn != nil
    }
  }

  @Test(arguments: faults, ["soft", "hard", "offline"])
  func signOutWithADiskFault_isWholeOrAbsent(fault: SimulatedDisk.Fault, mode: String) throws {
    try check(fault, Self.twoAccounts) { world, _ in
      try await Self.call(world, "account.signOut", #"{"account":"work","mode":"\#(mode)"}"#)
    }
  }

  /// A provider of keys, and the account that holds one.
  private static func keys(_ world: SimulatedWorld, holding user: String?) async throws -> SimulatedProvider {
    let provider = try await world.provider("idp")
    let origin = provider.idp.issuer
    #expect(
      try await call(
        world, "provider.add",
        #"""
        {"name":"keys","kind":"secret","allowedOrigins":["\#(origin)"],\#
        "whoami":{"url":"\#(origin)/keyed/whoami","subject":"/id"},\#
        "revoke":{"method":"DELETE","url":"\#(origin)/keyed/revoke"}}
        """#))
    if let user {
      let secret = try provider.idp.makeSecret(user: user)
      #expect(try await call(world, "account.add", #"{"provider":"keys","secret":"\#(secret)","alias":"key"}"#))
    }
    return provider
  }

  @Test(arguments: faults) func accountAddWithADiskFault_isWholeOrAbsent(fault: SimulatedDisk.Fault) throws {
    try check(fault, { try await Self.keys($0, holding: nil) }) { world, provider in
      let secret = try provider.idp.makeSecret(user: "bob")
      return try await Self.call(
        world, "account.add",
        #"{"provider":"keys","secret":"\#(secret)","alias":"key","expiresAt":"2190-01-01T00:00:00.000Z"}"#)
    }
  }

  @Test(arguments: faults) func accountReplaceWithADiskFault_isWholeOrAbsent(fault: SimulatedDisk.Fault) throws {
    try check(fault, { try await Self.keys($0, holding: "bob") }) { world, provider in
      let secret = try provider.idp.makeSecret(user: "bob")
      return try await Self.call(
        world, "account.replace", #"{"account":"key","secret":"\#(secret)","expiresAt":"2190-01-01T00:00:00.000Z"}"#)
    }
  }

  @Test(arguments: faults, ["soft", "hard", "offline"])
  func signOutOfAKeyWithADiskFault_isWholeOrAbsent(fault: SimulatedDisk.Fault, mode: String) throws {
    try check(fault, { try await Self.keys($0, holding: "bob") }) { world, _ in
      try await Self.call(world, "account.signOut", #"{"account":"key","mode":"\#(mode)"}"#)
    }
  }

  /// A provider of a machine identity, and its account. The server gives each request a token, and ends each.
  private static func machine(_ world: SimulatedWorld, isAdded: Bool) async throws -> SimulatedProvider {
    let provider = try await world.provider("idp")
    #expect(
      try await call(
        world, "provider.add",
        #"""
        {"name":"robot","kind":"client","issuer":"\#(provider.idp.issuer)","clientId":"robot","clientSecret":"a secret",\#
        "machine":{"grant":"clientCredentials"}}
        """#))
    let token = #"{"access_token":"at","token_type":"Bearer","expires_in":300}"#
    provider.idp.enqueueFault("/token", .status(200, token, count: nil))
    provider.idp.enqueueFault("/revoke", .status(200, "{}", count: nil))
    if isAdded { #expect(try await call(world, "account.add", #"{"provider":"robot","alias":"robot"}"#)) }
    return provider
  }

  @Test(arguments: faults) func machineAddWithADiskFault_isWholeOrAbsent(fault: SimulatedDisk.Fault) throws {
    try check(fault, { try await Self.machine($0, isAdded: false) }) { world, _ in
      try await Self.call(world, "account.add", #"{"provider":"robot","alias":"robot"}"#)
    }
  }

  @Test(arguments: faults, ["soft", "hard", "offline"])
  func signOutOfAMachineWithADiskFault_isWholeOrAbsent(fault: SimulatedDisk.Fault, mode: String) throws {
    try check(fault, { try await Self.machine($0, isAdded: true) }) { world, _ in
      try await Self.call(world, "account.signOut", #"{"account":"robot","mode":"\#(mode)"}"#)
    }
  }

  /// Signing in again replaces a grant: the account has the old or the new one, and it works.
  @Test(arguments: faults) func signInAgainWithADiskFault_leavesAWorkingGrant(fault: SimulatedDisk.Fault) throws {
    for step in FaultSteps.asked {
      let comment: Comment = "\(fault) at \(step)"
      let reached = try SimulatedWorld(seed: UInt64(step)).run { world in
        let scene = try await Scene.signedIn(world)
        let before = world.disk.operations
        world.failDisk(fault, at: step)
        let done = (try? await world.signIn("alice", at: scene.provider, again: scene.account)) != nil
        let reached = world.disk.operations - before >= step
        try await world.restart()
        let answer = try await scene.token()
        #expect(scene.works(answer), "\(comment): \(answer)")
        let used = try #require(scene.refreshes.last?.refreshToken)
        if done { #expect(scene.idp.grant(ofToken: used) != scene.grant, "\(comment): the old grant came back") }
        return reached
      }
      guard reached else { break }
      try #require(step < 300)
    }
  }

  /// The first start creates the key, the file and the vault.
  @Test(arguments: faults) func firstStartWithADiskFault_succeedsWhenRepeated(fault: SimulatedDisk.Fault) throws {
    for step in FaultSteps.asked {
      let comment: Comment = "\(fault) at \(step)"
      let world = SimulatedWorld(seed: UInt64(step))
      let reached = try world.drive {
        world.failDisk(fault, at: step)
        let started = (try? await world.start()) != nil
        let reached = world.disk.operations >= step
        try await world.restart()
        let provider = try await world.provider("idp")
        try await world.signIn("alice", at: provider, alias: "work")
        let answer = try await world.client().call("token.get", #"{"account":"work"}"#)
        #expect(answer["source"] == "cache", "\(comment), started: \(started): \(answer)")
        return reached
      }
      guard reached else { break }
      try #require(step < 300)
    }
  }
}
