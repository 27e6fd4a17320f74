import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider show`
struct ProviderShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show one provider.", discussion: "Its client secret is never shown.")

  @Argument(help: "The provider.", completion: .providers)
  var provider: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call("provider.get", params: { $0.member("provider", provider) }) { result in
      if common.json { return Output.answer(json: result.raw) }
      var facts = Facts()
      for (key, value) in (result["provider"] ?? result).members {
        if key.string == "refreshBecause", let basis = value.string {
          facts.add("refresh rule", Self.explanation(basis))
        } else if key.string == "dpop", let use = value.string {
          facts.add("dpop", Self.explanation(dpop: use))
        } else if let key = key.string, Self.named.contains(key), value.kind == .object {
          facts.add(key, Self.words(of: value, inWords: key == "refresh"))
        } else {
          facts.add(Text.words(key.string ?? ""), value.displayText.isEmpty ? "none" : value.displayText)
        }
      }
      facts.print()
    }
  }

  /// Objects whose members the contract names; those of the others are names of the provider's or the person's.
  private static let named = ["authorization", "endpoints", "redirect", "refresh", "tenant"]

  /// The members with their names in words, and where `inWords` is true their values, too.
  private static func words(of object: JSONNode, inWords: Bool) -> String {
    let words = object.members.map { name, value in
      "\(Text.words(name.string ?? "")): \(inWords ? Text.words(value.displayText) : value.displayText)"
    }
    return words.isEmpty ? "none" : words.joined(separator: ", ")
  }

  /// Whether sign-ins there bring tokens that are bound to a key.
  private static func explanation(dpop use: String) -> String {
    switch use {
    case "off": "off: bearer tokens"
    case "auto": "auto: tokens bound to a key of this agent where the provider offers it, else bearer tokens"
    case "required": "required: tokens bound to a key of this agent, and no bearer tokens"
    default: use
    }
  }

  /// Why the provider's refresh rule applies.
  private static func explanation(_ basis: String) -> String {
    switch basis {
    case "configured": "configured for this provider"
    case "learned": "learned: the provider returned the same refresh token, or none; a lost answer may differ"
    case "preset": "the preset knows this provider"
    case "assumed": "assumed: the provider has not shown how it treats refresh tokens"
    default: basis
    }
  }
}
