import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Several key slots, and the rotation of the root key (docs/storage.md, Key slots).
@Suite struct KeySlotTests {
  private static let passphraseMember = #""passphrase":"correct horse""#

  private static func call(
    _ world: SimulatedWorld, _ method: String, _ params: String = "{}"
  ) async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call(method, params)
  }

  private static func done(_ world: SimulatedWorld, _ method: String, _ params: String = "{}") async throws {
    let answer = try await call(world, method, params)
    #expect(answer.error == nil, "\(method): \(answer)")
  }

  /// Each slot as `0 keyFile opened`.
  private static func slots(_ world: SimulatedWorld) async throws -> [String] {
    let slots = try await call(world, "agent.listKeySlots").result?["slots"]?.arrayValue ?? []
    return slots.map { slot in
      "\(slot["slot"]?.integerValue ?? -1) \(slot["protection"]?.stringValue ?? "-")"
        + (slot["opened"]?.boolValue == true ? " opened" : "")
    }
  }

  private static func heads(_ world: SimulatedWorld) throws -> [SealedRecord] {
    world.crash()
    return try world.tamper { try $0.records(kind: RecordKind(rawValue: 1)) }
  }

  @Test func eachKeySlot_opensTheVaultByItself() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      try await Self.done(world, "agent.addKeySlot", "{\"protection\":\"passphrase\",\(Self.passphraseMember)}")
      #expect(try await Self.slots(world) == ["0 keyFile opened", "1 passphrase"])
      try await Self.done(world, "agent.lock")
      #expect(try await Self.call(world, "agent.unlock", #"{"passphrase":"wrong horse"}"#).code == 1008)
      try await Self.done(world, "agent.unlock", "{\(Self.passphraseMember)}")
      #expect(try await Self.slots(world) == ["0 keyFile", "1 passphrase opened"])
      #expect(scene.works(try await scene.token()))
      try await Self.done(world, "agent.removeKeySlot", #"{"slot":0}"#)
      #expect(try await Self.call(world, "agent.removeKeySlot", #"{"slot":1}"#).code == -32602)
      #expect(try world.keys.key() == nil, "the key of a slot that is no more goes with it")
      try await world.restart()
      #expect(try await scene.token().code == 1001)
      #expect(try await Self.call(world, "agent.listKeySlots").code == 1001)
      try await Self.done(world, "agent.unlock", "{\(Self.passphraseMember)}")
      #expect(scene.works(try await scene.token()))
    }
  }

  /// Each finding on keys as `severity remedy`.
  private static func keyFindings(_ world: SimulatedWorld) async throws -> [String] {
    let findings = try await call(world, "agent.diagnose").result?["findings"]?.arrayValue ?? []
    return findings.filter {
      $0["check"]?.stringValue == "protection" && $0["message"]?.stringValue?.contains("is gone") == true
    }
    .map { "\($0["severity"]?.stringValue ?? "") \($0["remedies"]?.arrayValue?.first?.stringValue ?? "")" }
  }

  /// While the vault is open, a lost key loses nothing: the diagnosis says so in time.
  @Test func aKeyFileThatIsGone_isTold() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      #expect(try await Self.keyFindings(world) == [])
      world.keys.lose()
      let saving = "problem `lanyard key add passphrase` now: then the passphrase opens it, and nothing is lost."
      #expect(try await Self.keyFindings(world) == [saving])
      _ = try world.keys.createKey()
      #expect(try await Self.keyFindings(world) == [saving], "another key opens nothing")
      try await Self.done(world, "agent.addKeySlot", "{\"protection\":\"passphrase\",\(Self.passphraseMember)}")
      let removing = "notice `lanyard key remove 0` removes the slot; or put the key back."
      #expect(try await Self.keyFindings(world) == [removing])
      try await Self.done(world, "agent.lock")
      #expect(try await Self.keyFindings(world) == [removing])
      try await Self.done(world, "agent.unlock", "{\(Self.passphraseMember)}")
      try await Self.done(world, "agent.removeKeySlot", #"{"slot":0}"#)
      #expect(try await Self.keyFindings(world) == [])
      #expect(scene.works(try await scene.token()))
    }
  }

  /// The root key is rotated without the passphrase; each slot still opens the vault, also after a second rotation.
  @Test func everyKeySlot_survivesARootKeyRotation() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      try await Self.done(world, "agent.addKeySlot", "{\"protection\":\"passphrase\",\(Self.passphraseMember)}")
      try await Self.done(world, "stepUp.enroll", #"{"account":"work","pin":"1234"}"#)
      try await Self.done(world, "secret.put", #"{"account":"work","name":"draft","value":"words"}"#)
      for epoch: Int64 in 2...3 {
        let answer = try await Self.call(world, "agent.rotateRootKey")
        #expect(answer.result?["keyEpoch"]?.integerValue == epoch)
        for _ in 1...2 {
          try await world.restart()
          let answer = try await scene.token()
          #expect(scene.works(answer), "\(answer)")
          try await Self.done(world, "agent.lock")
          try await Self.done(world, "agent.unlock", "{\(Self.passphraseMember)}")
        }
        #expect(try await Self.call(world, "secret.get", #"{"account":"work","name":"draft"}"#)["value"] == "words")
        try await Self.done(world, "stepUp.verify", #"{"account":"work","pin":"1234"}"#)
        #expect(try await Self.call(world, "audit.verify").result?["intact"]?.boolValue == true)
        #expect(try await Self.call(world, "provider.update", #"{"provider":"idp","scopes":["openid"]}"#).error == nil)
      }
      let rows = try Self.heads(world)
      #expect(rows.allSatisfy { $0.keyEpoch == 3 })
      try await world.restart()
    }
  }

  /// Data sealed under the PIN alone keeps its key, since the agent does not have it; the PIN still opens it.
  @Test func dataUnderAPIN_survivesARootKeyRotation() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      try await Self.done(world, "stepUp.enroll", #"{"account":"work","pin":"1234"}"#)
      try await Self.done(world, "secret.put", #"{"account":"work","name":"draft","value":"words"}"#)
      try await Self.done(world, "account.signOut", #"{"account":"work","mode":"soft"}"#)
      try await Self.done(world, "agent.rotateRootKey")
      try await world.restart()
      try await world.signIn("alice", at: scene.provider, again: scene.account)
      #expect(try await Self.call(world, "secret.get", #"{"account":"work","name":"draft"}"#).code == 2008)
      try await Self.done(world, "stepUp.verify", #"{"account":"work","pin":"1234"}"#)
      #expect(try await Self.call(world, "secret.get", #"{"account":"work","name":"draft"}"#)["value"] == "words")
    }
  }

  /// The row of a removed slot is put back from a copy: the vault does not accept it.
  @Test func removedKeySlotPutBack_opensNothing() throws {
    try scenario { world in
      _ = try await Scene.signedIn(world)
      try await Self.done(world, "agent.addKeySlot", "{\"protection\":\"passphrase\",\(Self.passphraseMember)}")
      world.crash()
      let old = try world.tamper { try $0.keySlots() }
      try await world.restart()
      try await Self.done(world, "agent.removeKeySlot", #"{"slot":1}"#)
      world.crash()
      try world.tamper { try $0.commit([.putKeySlot(old[1])]) }
      try await world.restart()
      try await Self.done(world, "agent.lock")
      #expect(try await Self.call(world, "agent.unlock", "{\(Self.passphraseMember)}").code == 5002)
      #expect(try await Self.call(world, "account.list").code == 1001)
      try await Self.done(world, "agent.unlock")
    }
  }

  /// A damaged or inserted slot neither blocks the other slots nor makes a guess free.
  @Test func damagedKeySlot_leavesTheOthersUsable() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      try await Self.done(world, "agent.addKeySlot", "{\"protection\":\"passphrase\",\(Self.passphraseMember)}")
      world.crash()
      let slots = try world.tamper { try $0.keySlots() }
      let bogus = slots[1].with {
        $0.number = 2
        $0.parameters = []
      }
      try world.tamper {
        try $0.commit([.putKeySlot(slots[0].with { $0.wrappedRootKey[40] ^= 1 }), .putKeySlot(bogus)])
      }
      try await world.restart()
      #expect(try await scene.token().code == 1001)
      for _ in 1...3 {
        #expect(try await Self.call(world, "agent.unlock", #"{"passphrase":"wrong horse"}"#).code == 1008)
      }
      let slowed = try await Self.call(world, "agent.unlock", "{\(Self.passphraseMember)}")
      #expect(slowed.code == 1008 && (slowed.retryAfterMs ?? 0) > 100, "\(slowed)")
      await world.clock.sleep(for: .seconds(70))
      try await Self.done(world, "agent.unlock", "{\(Self.passphraseMember)}")
      #expect(scene.works(try await scene.token()))
      for slot in [0, 2] { try await Self.done(world, "agent.removeKeySlot", "{\"slot\":\(slot)}") }
      #expect(try await Self.call(world, "agent.removeKeySlot", #"{"slot":1}"#).code == -32602)
    }
  }

  /// Each column of a slot, changed one byte at a time: the slot does not open.
  @Test func changedKeySlot_opensNothing() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.crash()
      let slot = try #require(try world.tamper { try $0.keySlots() }.first)
      var changed: [KeySlotRow] = []
      for index in slot.commitment.indices { changed.append(slot.with { $0.commitment[index] ^= 1 }) }
      for index in slot.wrappedRootKey.indices { changed.append(slot.with { $0.wrappedRootKey[index] ^= 1 }) }
      changed += [slot.with { $0.keyEpoch += 1 }, slot.with { $0.parameters = [1] }, slot.with { $0.keyEpoch = 0 }]
      for row in changed {
        try world.tamper { try $0.commit([.putKeySlot(row)]) }
        await #expect(throws: (any Error).self, "\(row)") { try await world.restart() }
      }
      try world.tamper { try $0.commit([.putKeySlot(slot)]) }
      try await world.restart()
      #expect(scene.works(try await scene.token()))
    }
  }

  /// A death at every disk operation while slots are added and removed: each remaining slot opens, and one remains.
  @Test(arguments: [SimulatedDisk.Death.kill, .powerLoss(seed: 7)])
  func deathDuringAKeySlotChange_leavesEverySlotUsable(death: SimulatedDisk.Death) throws {
    for (method, params) in [
      ("agent.addKeySlot", "{\"protection\":\"passphrase\",\(Self.passphraseMember)}"),
      ("agent.removeKeySlot", #"{"slot":1}"#),
      ("agent.rotateRootKey", "{}"),
    ] {
      // Argon2id is slow: where it is used, every third operation must do.
      for step in stride(from: 1, to: 400, by: method == "agent.rotateRootKey" ? 1 : 3) {
        let hasDied = try SimulatedWorld(seed: UInt64(step)).run { world in
          let scene = try await Scene.signedIn(world)
          try await world.signIn("bob", at: scene.provider, alias: "home")
          if method == "agent.removeKeySlot" {
            try await Self.done(world, "agent.addKeySlot", "{\"protection\":\"passphrase\",\(Self.passphraseMember)}")
          }
          world.failDisk(.die(death), at: step)
          let answer = try await Self.call(world, method, params)
          let hasDied = !world.isRunning
          try await world.restart()
          let slots = try await Self.slots(world)
          #expect(slots.first == "0 keyFile opened", "\(method) \(step)")
          if answer.result != nil, method != "agent.rotateRootKey" {
            #expect(slots.count == (method == "agent.addKeySlot" ? 2 : 1), "\(method) \(step)")
          }
          await world.clock.sleep(for: .seconds(1))
          #expect(scene.works(try await scene.token()), "\(method) \(step)")
          #expect(scene.works(try await scene.tokenOf("home")), "\(method) \(step)")
          if slots.count == 2, step % 4 == 0 {
            try await Self.done(world, "agent.lock")
            try await Self.done(world, "agent.unlock", "{\(Self.passphraseMember)}")
            #expect(scene.works(try await scene.token()), "\(method) \(step)")
          }
          world.crash()
          try world.tamper { store in
            let heads = try store.records(kind: RecordKind(rawValue: 1))
            #expect(Set(heads.map(\.keyEpoch)).count == 1, "\(method) \(step): the rotation came to its end")
            #expect(try store.metadata("rotation") == nil, "\(method) \(step)")
          }
          return hasDied
        }
        guard hasDied else { break }
        try #require(step < 390)
      }
    }
  }
}

extension KeySlotRow {
  fileprivate func with(_ change: (inout KeySlotRow) -> Void) -> KeySlotRow {
    var copy = self
    change(&copy)
    return copy
  }
}
