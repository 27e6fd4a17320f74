import AgentModel
import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard grant [list]`
struct GrantList: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List the grants.")

  @OptionGroup var tables: TableOptions

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    let names = common.json ? [:] : try Self.names(&agent)
    try agent.call("grant.list") { result in
      if common.json { return Output.answer(json: result.raw) }
      let grants = result["grants"].map { Array($0.elements) } ?? []
      if grants.isEmpty { return Output.note("No program has a grant.") }
      // Most grants are for every origin of the provider; then the column would say nothing.
      let showsOrigins = grants.contains { $0["origins"] != nil }
      let showsPasses = grants.contains { $0["passOrigins"] != nil }
      let showsAdditions = grants.contains { $0["additions"]?.elements.contains { _ in true } ?? false }
      var table = Table(
        ["GRANT", "PROGRAM", "MAY"] + (showsOrigins ? ["AT"] : []) + (showsAdditions ? ["AND"] : [])
          + (showsPasses ? ["PASSES TO"] : []) + ["FOR", "ENDS"],
        whole: ["GRANT", "PROGRAM", "ENDS"], folded: ["MAY", "AT", "AND", "PASSES TO", "FOR"])
      for grant in grants {
        let end = grant["expiresAt"]?.string.flatMap { Moment($0) }
        let origins = grant["origins"].map { Self.joined($0, Self.host) } ?? "any"
        table.add(
          [.init(grant["grant"]?.string ?? "-"), .init(Self.program(grant)), .init(Self.permission(grant))]
            + (showsOrigins ? [.init(origins)] : [])
            + (showsAdditions ? [.init(Self.additions(grant["additions"]))] : [])
            + (showsPasses ? [.init(grant["passOrigins"].map { Self.joined($0, Self.host) } ?? "-")] : [])
            + [.init(Self.joined(grant["accounts"]) { names[$0] ?? $0 }), .init(end?.relative ?? "never")])
      }
      table.print(tables)
    }
  }

  private static func program(_ grant: JSONNode) -> String {
    let client = grant["client"]?.string ?? "-"
    return grant["agent"]?.bool == true ? "\(client) (AI agent)" : client
  }

  /// The methods, then the scopes, resources and types of details that limit its tokens, and what else it may claim.
  private static func permission(_ grant: JSONNode) -> String {
    let lists = [grant["scopes"], grant["resources"], grant["authorizationDetailTypes"]]
    var limits = lists.compactMap { $0 }.map { joined($0) { $0 } }
    if let capabilities = grant["capabilities"] { limits.append("claims \(joined(capabilities) { $0 })") }
    return abilities(grant["methods"]) + (limits.isEmpty ? "" : " (\(limits.joined(separator: "; ")))")
  }

  /// What a person allowed beside, by `lanyard approvals`: `api.example with POST, ends in 8 h`.
  private static func additions(_ list: JSONNode?) -> String {
    let texts = list?.elements.map { addition in
      let words = [joined(addition["methods"]) { $0 }, joined(addition["capabilities"]) { $0 }].filter { !$0.isEmpty }
      let end = addition["expiresAt"]?.string.flatMap { Moment($0) }.map { ", ends \($0.relative)" } ?? ""
      return joined(addition["origins"], host) + (words.isEmpty ? "" : " with \(words.joined(separator: ", "))") + end
    }
    return texts.flatMap { $0.isEmpty ? nil : $0.joined(separator: "; ") } ?? "-"
  }

  private static func host(_ origin: String) -> String {
    origin.hasPrefix("https://") ? String(origin.dropFirst(8)) : origin
  }

  /// The methods, those of an ability by its word.
  private static func abilities(_ list: JSONNode?) -> String {
    let methods = list?.elements.compactMap(\.string) ?? []
    let abilities = GrantAbility.allCases.filter { Set($0.methods).isSubset(of: methods) }
    let named = Set(GrantAbility.methods(of: abilities))
    return (abilities.map(\.rawValue) + methods.filter { !named.contains($0) }).joined(separator: ", ")
  }

  private static func joined(_ list: JSONNode?, _ word: (String) -> String) -> String {
    (list?.elements.compactMap(\.string) ?? []).map(word).joined(separator: ", ")
  }

  /// Aliases by account id; empty if the caller's grant does not cover `account.list`.
  private static func names(_ agent: inout AgentConnection) throws(CommandFailure) -> [String: String] {
    do throws(CommandFailure) {
      return try agent.call("account.list") { (result) throws(CommandFailure) in
        let pairs = (result["accounts"].map { Array($0.elements) } ?? []).compactMap { account in
          account["id"]?.string.map { ($0, account["alias"]?.string ?? $0) }
        }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
      }
    } catch {
      guard error.name == "notPermitted" else { throw error }
      return [:]
    }
  }
}
