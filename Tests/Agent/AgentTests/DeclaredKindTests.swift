import Agent
import AgentPorts
import AgentVault
import SQLiteStore
import Secrets
import StorageFaults
import Testing

/// A kind of records as a feature would declare it, which the vault has never heard of.
extension DeclaredKind {
  fileprivate static let vital = DeclaredKind(900, under: .vault)
  fileprivate static let independent = DeclaredKind(901, under: .vault, [.counted, .answersForItself])
  fileprivate static let value = DeclaredKind(902, under: .data, .copied, named: "a value")
}

/// What the vault knows of a kind of records is what its feature declares.
@Suite struct DeclaredKindTests {
  private static let kinds = DeclaredKinds([.vital, .independent, .value])
  private let disk = SimulatedDisk()
  private let root = SealingKey.random()

  private func store() throws -> SQLiteStore { try SQLiteStore(path: "store", vfs: disk.vfsName) }

  private func vault(_ store: any Store) -> Vault { Vault(store: store, kinds: Self.kinds, root: root, epoch: 1) }

  /// Numbers, keys and traits of earlier stores. A kind that is added stands behind them and changes none.
  @Test func kindsOfTheFormat_areAsEarlierStoresHaveThem() {
    let names: [(DeclaredKind.Traits, String)] = [
      (.counted, "counted"), (.answersForItself, "alone"), (.untilSignOut, "signedIn"), (.wrapsDataKey, "wraps"),
    ]
    let declared = AgentTables.kinds.all.map { kind in
      (["\(kind.number.rawValue) \(kind.keyClass)"] + names.filter { kind.traits.contains($0.0) }.map(\.1))
        .joined(separator: " ")
    }
    #expect(
      declared.prefix(44) == [
        "1 head", "2 directory counted", "3 directory counted", "4 token counted signedIn", "5 token signedIn",
        "6 token signedIn", "7 token signedIn", "8 token signedIn", "9 data counted", "10 data counted",
        "11 token counted wraps", "12 token", "16 vault counted alone", "17 vault alone", "18 outbox counted",
        "19 vault", "20 vault", "21 vault counted alone", "22 vault", "23 token", "24 vault", "25 vault", "26 vault",
        "27 vault counted alone", "28 token", "29 token", "30 vault alone", "31 vault counted", "32 vault counted",
        "33 vault", "34 vault", "35 data", "36 data", "37 data", "38 vault counted alone", "44 vault alone",
        "45 vault counted alone", "46 token signedIn", "47 token", "52 vault counted alone", "53 vault alone",
        "54 vault counted alone", "55 vault alone", "56 vault counted alone",
      ])
    let labels = AgentTables.kinds.all.map { "\($0.number.rawValue) \($0.label)" }.filter { !$0.hasSuffix(" ") }
    #expect(labels == ["9 client secret", "16 provider", "21 policy", "47 budget", "56 spent tries"])
    #expect(AgentTables.kinds.copied == [.init(9, under: .data), .init(10, under: .data)])
  }

  @Test(arguments: [(DeclaredKind.vital, false), (.independent, true)])
  func damagedRecord_keepsTheVaultClosedUnlessItAnswersForItself(kind: DeclaredKind, opens: Bool) throws {
    let store = try store()
    try vault(store).apply([.put(.vault, kind, id: [1], Secret(text: "x"))])
    var row = try #require(try store.records(in: .vault, kind: kind.number).first)
    row.sealed[row.sealed.count - 1] ^= 1
    try store.commit([.put(row)])
    let vault = vault(store)
    if opens {
      try vault.checkOwnRecords()
      let found = try vault.readEach(kind)
      #expect(found.map(\.id) == [[1]] && found.allSatisfy { $0.plain == nil })
    } else {
      #expect(throws: VaultFailure.integrity) { try vault.checkOwnRecords() }
    }
  }

  @Test(arguments: [(DeclaredKind.vital, 0), (.independent, 1)] as [(DeclaredKind, UInt64)])
  func changeOfACountedKind_raisesTheCount(kind: DeclaredKind, by count: UInt64) throws {
    let vault = vault(try store())
    try vault.apply([.put(.vault, .independent, Secret(text: "first"))])
    let before = try vault.ledger().sequence
    try vault.apply([.put(.vault, kind, id: [1], Secret(text: "x"))])
    #expect(try vault.ledger().sequence == before + count)
  }

  @Test func copiedRecord_isFoundByItsNameInAnotherVault() throws {
    let vault = vault(try store())
    let places = try vault.places()
    let plain = Secret(text: #"{"name":"key"}"#)
    #expect(try places.id(of: .value, copying: plain) == places.id(of: .value, "key"))
    #expect(throws: VaultFailure.integrity) { try places.id(of: .value, copying: Secret(text: "{}")) }
    #expect(throws: VaultFailure.integrity) { try places.id(of: .vital, copying: plain) }
  }
}
