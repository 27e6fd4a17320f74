import CommandSupport
import JSONRPC

/// What a policy document says of requests and budgets, in lines for a person.
enum PolicyOverview {
  /// One line for each capability that names requests, has a budget or wants a person, its tier's too; in the order of the
  /// document.
  static func lines(_ policy: JSONNode) -> [String] {
    capabilities(policy).compactMap { name, capability, tier in
      var parts: [String] = []
      for request in capability["requests"].map({ Array($0.elements) }) ?? [] {
        let methods = (request["methods"]?.elements.compactMap(\.string) ?? []).joined(separator: ", ")
        parts.append("decides \(methods) \(request["origin"]?.string ?? "")\(request["path"]?.string ?? "")")
      }
      if let budget = (capability["budget"] ?? tier?["budget"])?["perHour"]?.text { parts.append("\(budget) per hour") }
      if (capability["stepUp"] ?? tier?["stepUp"])?["method"]?.string == "pinentry" {
        parts.append("a person confirms")
      }
      if isIdleApproval(capability, tier) {
        parts.append(Self.idle)
      } else if (capability["approve"] ?? tier?["approve"]) != nil {
        parts.append("a person approves what an AI agent sends")
      }
      return parts.isEmpty ? nil : "\(name): \(parts.joined(separator: "; "))"
    }
  }

  /// One line for each capability whose `approve` has no effect.
  static func idleApprovals(_ policy: JSONNode) -> [String] {
    capabilities(policy).compactMap { name, capability, tier in
      isIdleApproval(capability, tier) ? "\(name): \(Self.idle)." : nil
    }
  }

  private static let idle = "`approve` has no effect, since requests alone wait and this names no `requests`"

  private static func isIdleApproval(_ capability: JSONNode, _ tier: JSONNode?) -> Bool {
    capability["requests"] == nil && (capability["approve"] ?? tier?["approve"]) != nil
  }

  private static func capabilities(_ policy: JSONNode) -> [(name: String, rules: JSONNode, tier: JSONNode?)] {
    let tiers = policy["tiers"]
    return (policy["capabilities"].map { Array($0.members) } ?? []).map { name, capability in
      let tier = capability["tier"].flatMap { named in
        tiers?.members.first { $0.key.string == named.string }.map(\.value)
      }
      return (name.string ?? "", capability, tier)
    }
  }
}
