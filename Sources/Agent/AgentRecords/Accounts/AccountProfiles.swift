package import AgentModel

/// The profiles of all accounts by their ids. Each stands apart from the table, which has a third more places than
/// entries.
package struct AccountProfiles: Sendable {
  package final class Place: Sendable {
    fileprivate let profile: AccountProfile

    fileprivate init(_ profile: AccountProfile) { self.profile = profile }
  }

  private var places: [AccountID: Place] = [:]

  /// Empty, with room for this number of accounts.
  init(minimumCapacity: Int) { places.reserveCapacity(minimumCapacity) }

  var count: Int { places.count }

  /// In no order.
  package var values: LazyMapCollection<Dictionary<AccountID, Place>.Values, AccountProfile> {
    places.values.lazy.map(\.profile)
  }

  package subscript(id: AccountID) -> AccountProfile? { places[id]?.profile }

  /// Returns the profile that was there before.
  mutating func put(_ profile: AccountProfile) -> AccountProfile? {
    places.updateValue(Place(profile), forKey: profile.id)?.profile
  }

  mutating func remove(_ id: AccountID) -> AccountProfile? { places.removeValue(forKey: id)?.profile }
}
