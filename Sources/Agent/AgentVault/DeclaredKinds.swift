internal import AgentPorts

/// The kinds of the vault and of its features, by number: it finds the traits of a row whose feature does not ask.
package struct DeclaredKinds: Sendable {
  private var byNumber: [DeclaredKind?] = []

  /// Of the vault itself.
  private static let own: [DeclaredKind] = [
    .head, .accountKeys, .auditChain, .pepper, .indexKey, .sequence, .logKeys, .drop, .keptData, .mark, .keySlotNotes,
    .dropBox, .backup, .decisionChain,
  ]

  package init(_ features: [DeclaredKind]) {
    for kind in Self.own + features {
      let place = Int(kind.number.rawValue)
      if place >= byNumber.count { byNumber += Array(repeating: nil, count: place + 1 - byNumber.count) }
      guard byNumber[place] == nil else { fatalError("two kinds of records have the number \(place)") }
      byNumber[place] = kind
    }
  }

  func lists(_ kind: RecordKind) -> Bool { listed(kind) != nil }

  /// For a number that is not listed, a later agent's or one from outside, a kind without traits.
  subscript(kind: RecordKind) -> DeclaredKind { listed(kind) ?? DeclaredKind(kind.rawValue, under: .token) }

  private func listed(_ kind: RecordKind) -> DeclaredKind? {
    let place = Int(kind.rawValue)
    return place < byNumber.count ? byNumber[place] : nil
  }

  /// In the order of their numbers.
  package var all: [DeclaredKind] { byNumber.compactMap { $0 } }

  /// What a sign-out deletes.
  package var untilSignOut: [DeclaredKind] { all.filter { $0.traits.contains(.untilSignOut) } }

  /// What a backup takes over without knowing more of it than its name.
  package var copied: [DeclaredKind] { all.filter { $0.traits.contains(.copied) } }
}
