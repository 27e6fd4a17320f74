import CommandSupport
import JSONRPC

/// What a policy document says of requests and budgets, in lines for a person.
enum PolicyOverview {
  /// One line for each capability that names requests or has a budget, its tier's too; in the order of the document.
  static func lines(_ policy: JSONNode) -> [String] {
    let tiers = policy["tiers"]
    return (policy["capabilities"]?.members.map { ($0.key.string ?? "", $0.value) } ?? []).compactMap {
      name, capability in
      let tier = capability["tier"].flatMap { named in
        tiers?.members.first { $0.key.string == named.string }.map(\.value)
      }
      var parts: [String] = []
      for request in capability["requests"].map({ Array($0.elements) }) ?? [] {
        let methods = (request["methods"]?.elements.compactMap(\.string) ?? []).joined(separator: ", ")
        parts.append("decides \(methods) \(request["origin"]?.string ?? "")\(request["path"]?.string ?? "")")
      }
      if let budget = (capability["budget"] ?? tier?["budget"])?["perHour"]?.text { parts.append("\(budget) per hour") }
      if (capability["stepUp"] ?? tier?["stepUp"])?["method"]?.string == "pinentry" {
        parts.append("a person confirms")
      }
      return parts.isEmpty ? nil : "\(name): \(parts.joined(separator: "; "))"
    }
  }
}
