package import AgentCore
internal import AgentModel
package import JSONRPC

extension Identity {
  /// The subject that a provider names by `text`; nil for a text by which no person is known: an empty one, one that only
  /// the agent makes, or one in which something was replaced, so that two people may have become the same
  /// (docs/providers.md, Documents).
  static func subject(named text: String?) -> String? {
    text.flatMap { canBeNamed($0) && !MendedText.isDoubtful($0) ? $0 : nil }
  }
}

extension JSONNode {
  /// The person whom an answer of userinfo names: `sub` (OpenID Connect Core §5.3.2), else the member that the preset
  /// knows, else `id`.
  package func subject(namedBy preset: ProviderPreset?) -> String? {
    if let subject = self["sub"]?.string { return subject }
    if let name = preset?.subjectMember {
      return text(ofMember: name)
    }
    return self["id"]?.idText
  }

  /// True if an answer of userinfo is about this person. One that names no person must not be used (OpenID Connect Core
  /// §5.3.2).
  package func names(_ subject: String, by preset: ProviderPreset?) -> Bool {
    self.subject(namedBy: preset).map { equalCodePoints($0, subject) } ?? false
  }
}

extension JSONNode {
  /// What stands in an object that names no person, for people: the names of its members, and what they are where that
  /// helps. Never a value.
  var membersForPeople: String {
    guard kind == .object else { return kindForPeople }
    let all = Array(members)
    guard !all.isEmpty else { return "nothing" }
    let told = all.prefix(Self.mostTold).map { key, value -> String in
      let name = "`\(ProviderRefusals.cleaned(key.string ?? ""))`"
      switch value.kind {
      case .object:
        let inside = value.members.first { ["sub", "id"].contains($0.key.string) }?.key.string
        return "\(name) (\(inside.map { "an object with `\($0)`" } ?? value.kindForPeople))"
      case .string where value.textCapacity == 0: return "\(name) (empty)"
      case .string: return name
      default: return "\(name) (\(value.kindForPeople))"
      }
    }
    return told.joined(separator: ", ") + (all.count > Self.mostTold ? ", …" : "")
  }

  private static let mostTold = 8
}
