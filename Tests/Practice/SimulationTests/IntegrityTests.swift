import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Rows that were damaged, moved or restored while no agent ran: that account reports it, and no other account does.
@Suite struct IntegrityTests {
  /// Numbers of the sealed format.
  private static let head = RecordKind(rawValue: 1)
  private static let keys = RecordKind(rawValue: 2)
  private static let profile = RecordKind(rawValue: 3)
  private static let grant = RecordKind(rawValue: 4)

  /// Two accounts; the agent ends, `damage` is done to the first one's partition, and the agent starts again.
  private func after(
    _ damage: @escaping @Sendable (any Store, PartitionID, PartitionID) throws -> Void,
    code: Int = 5002
  ) throws {
    try scenario { world in
      let (scene, work, home) = try await Self.twoAccounts(world)
      try world.tamper { try damage($0, work, home) }
      try await world.restart()
      let broken = try await scene.token()
      #expect(broken.code == code, "\(broken)")
      #expect(scene.refreshes.isEmpty, "nothing of a damaged account is sent")
      let client = try world.client()
      let sound = await client.call("token.get", #"{"account":"home"}"#)
      #expect(scene.works(sound), "\(sound)")
      #expect(await client.call("account.list").error == nil)
      #expect(await client.call("agent.status").error == nil)
    }
  }

  /// An account of Alice's and one of Bob's, with their partitions.
  private static func twoAccounts(
    _ world: SimulatedWorld
  ) async throws -> (scene: Scene, work: PartitionID, home: PartitionID) {
    let scene = try await Scene.signedIn(world)
    let work = try #require(try partitions(world).first)
    try await world.restart()
    try await world.signIn("bob", at: scene.provider, alias: "home")
    return (scene, work, try #require(try partitions(world).first { $0 != work }))
  }

  private static func partitions(_ world: SimulatedWorld) throws -> [PartitionID] {
    world.crash()
    return try world.tamper { try $0.partitions().filter { $0 != .vault } }
  }

  private static func row(_ store: any Store, _ partition: PartitionID, _ kind: RecordKind) throws -> SealedRecord {
    try #require(try store.record(RecordKey(partition: partition, kind: kind)))
  }

  @Test(arguments: [head, keys, grant]) func changedByteInARow_isReported(kind: RecordKind) throws {
    try after { store, work, _ in
      var row = try Self.row(store, work, kind)
      row.sealed[row.sealed.count / 2] ^= 1
      try store.commit([.put(row)])
    }
  }

  @Test(arguments: [head, keys, grant]) func missingRow_isReported(kind: RecordKind) throws {
    try after { store, work, _ in
      try store.commit([.delete(RecordKey(partition: work, kind: kind))])
    }
  }

  @Test(arguments: [head, keys, grant]) func rowOfAnotherAccount_isReported(kind: RecordKind) throws {
    try after { store, work, home in
      var row = try Self.row(store, home, kind)
      row.key = RecordKey(partition: work, kind: kind)
      try store.commit([.put(row)])
    }
  }

  @Test func rowOfAnotherKind_isReported() throws {
    try after { store, work, _ in
      var row = try Self.row(store, work, Self.profile)
      row.key = RecordKey(partition: work, kind: Self.grant)
      try store.commit([.put(row)])
    }
  }

  @Test func addedRow_isReported() throws {
    try after { store, work, _ in
      var row = try Self.row(store, work, Self.grant)
      row.key = RecordKey(partition: work, kind: Self.grant, id: [7])
      try store.commit([.put(row)])
    }
  }

  @Test func changedGeneration_isReported() throws {
    try after { store, work, _ in
      var row = try Self.row(store, work, Self.grant)
      row.generation += 1
      try store.commit([.put(row)])
    }
  }

  /// An old refresh token put back: its row opens, but the head records that it was replaced.
  @Test func oldGrantRowPutBack_isReportedAndNotSent() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let work = try #require(try Self.partitions(world).first)
      let old = try world.tamper { try Self.row($0, work, Self.grant) }
      try await world.restart()
      #expect(scene.works(try await scene.token()))
      let sent = scene.refreshes.count
      world.crash()
      try world.tamper { try $0.commit([.put(old)]) }
      try await world.restart()
      #expect(try await scene.token().code == 5002)
      #expect(scene.refreshes.count == sent, "a spent token is not sent")
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  /// All old rows of an account with its head put back: the ledger knows a newer generation of the head.
  @Test func wholeAccountPutBack_isReportedAndNotSent() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let work = try #require(try Self.partitions(world).first)
      let old = try world.tamper { try $0.records(in: work) }
      try await world.restart()
      #expect(scene.works(try await scene.token()))
      try await world.signIn("bob", at: scene.provider, alias: "home")
      let sent = scene.refreshes.count
      world.crash()
      try world.tamper { try $0.commit([.deletePartition(work)] + old.map { .put($0) }) }
      try await world.restart()
      #expect(try await scene.token().code == 5002)
      #expect(scene.refreshes.count == sent, "a spent token is not sent")
      #expect(scene.works(try await scene.tokenOf("home")))
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  @Test func wholeAccountDeleted_isReported() throws {
    try after { store, work, _ in try store.commit([.deletePartition(work)]) }
  }

  /// Rows of an erased account that are put back belong to no account.
  @Test func erasedAccountPutBack_isIgnored() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let work = try #require(try Self.partitions(world).first)
      let old = try world.tamper { try $0.records(in: work) }
      try await world.restart()
      for (method, more) in [("account.signOut", #","mode":"hard""#), ("account.forget", "")] {
        #expect(try await scene.token(more, method: method).error == nil)
      }
      let sent = scene.refreshes.count
      world.crash()
      try world.tamper { try $0.commit(old.map { .put($0) }) }
      try await world.restart()
      #expect(try await scene.token().code == 2001)
      let client = try world.client()
      #expect(await client.call("account.list").result?["accounts"]?.arrayValue?.isEmpty == true)
      #expect(scene.refreshes.count == sent)
    }
  }

  /// Without its profile an account can't be named; the others are not affected.
  @Test func damagedProfile_isReported() throws {
    try after { store, work, _ in
      var row = try Self.row(store, work, Self.profile)
      row.sealed[30] ^= 1
      try store.commit([.put(row)])
    }
  }

  /// The ledger has lost the generation of the head: the account answers for itself, and a new sign-in replaces it.
  @Test(arguments: [true, false]) func damagedLedgerMark_closesItsAccountsAlone(isDeleted: Bool) throws {
    try scenario { world in
      let (scene, work, home) = try await Self.twoAccounts(world)
      let mark = work.bytes[0] % 64
      // Both accounts have the same mark in one of 64 worlds.
      guard home.bytes[0] % 64 != mark else { return }
      let key = RecordKey(partition: .vault, kind: RecordKind(rawValue: 30), id: [mark])
      try world.tamper { store in
        var row = try #require(try store.record(key))
        row.sealed[row.sealed.count / 2] ^= 1
        try store.commit([isDeleted ? .delete(key) : .put(row)])
      }
      // The mark is written anew by the first start; the account stays closed.
      for _ in 0..<2 {
        try await world.restart()
        #expect(try await scene.token().code == 5002)
        #expect(scene.works(try await scene.tokenOf("home")))
        let client = try world.client()
        #expect(await client.call("account.list").result?["accounts"]?.arrayValue?.count == 2)
      }
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
      let again = try await world.signIn("alice", at: scene.provider, again: scene.account)
      #expect(again == scene.account)
      #expect(scene.works(try await scene.token()))
      try await world.restart()
      #expect(scene.works(try await scene.token()))
    }
  }

  @Test(arguments: [head, keys, grant]) func signInAgain_replacesDamagedRows(kind: RecordKind) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let work = try #require(try Self.partitions(world).first)
      try world.tamper { store in
        var row = try Self.row(store, work, kind)
        row.sealed[40] ^= 1
        try store.commit([.put(row)])
      }
      try await world.restart()
      #expect(try await scene.token().code == 5002)
      let again = try await world.signIn("alice", at: scene.provider, again: scene.account)
      #expect(again == scene.account)
      #expect(scene.works(try await scene.token()))
      try await world.restart()
      #expect(scene.works(try await scene.token()))
    }
  }
}
