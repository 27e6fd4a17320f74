import JSONRPC

/// The answer of `connectivity.get`.
struct NetworkInfo {
  private let state: String
  /// The servers of providers said it, and no client and no change of the network.
  private let isOfServers: Bool
  private let unreachable: [String]

  init(_ node: JSONNode) {
    state = node["state"]?.string ?? ""
    isOfServers = node["basis"]?.string == "exchange"
    unreachable = node["unreachable"].map { $0.elements.compactMap(\.string) } ?? []
  }

  /// For a person. That one provider can't be reached does not show that the network is gone.
  var words: String {
    guard state == "offline", isOfServers, let first = unreachable.first else { return state }
    if unreachable.count == 1 { return "\(first) can't be reached" }
    let others = unreachable.dropLast().joined(separator: ", ")
    return "offline: \(others) and \(unreachable[unreachable.count - 1]) can't be reached"
  }
}
