internal import AgentModel

extension TokenMachine {
  struct Waiter: Hashable {
    var id: WaiterID
    var key: TokenKey
    var demand: Demand
  }

  /// The callers that wait for a token, in the order of their requests.
  struct Waiters {
    private var waiting: [Waiter] = []

    var isEmpty: Bool { waiting.isEmpty }

    /// The audience whose turn is next, with its demand; nil without a waiter. A waiter that may reach the provider takes
    /// the other waiters for its key along.
    var next: (key: TokenKey, demand: Demand)? {
      guard let first = waiting.first else { return nil }
      let mayForce = waiting.contains { $0.key == first.key && $0.demand == .forced }
      return (first.key, mayForce ? .forced : first.demand)
    }

    /// A caller waits for another token than the one that a resource rejected.
    func reject(_ key: TokenKey) -> Bool {
      waiting.contains { waiter in
        if waiter.key == key, case .replacing = waiter.demand { true } else { false }
      }
    }

    mutating func add(_ waiter: Waiter) { waiting.append(waiter) }

    mutating func remove(_ id: WaiterID) { waiting.removeAll { $0.id == id } }

    /// I2: the caller answers exactly the waiters that this removes.
    mutating func take(for key: TokenKey? = nil) -> [Waiter] {
      let taken = waiting.filter { key == nil || $0.key == key }
      waiting.removeAll { key == nil || $0.key == key }
      return taken
    }
  }
}
