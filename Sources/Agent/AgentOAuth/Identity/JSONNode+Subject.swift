package import AgentCore
internal import AgentModel
internal import JSONRPC

extension JSONNode {
  /// The person whom an answer of userinfo names: `sub` (OpenID Connect Core §5.3.2), else the member that the preset
  /// knows, else `id`.
  package func subject(namedBy preset: ProviderPreset?) -> String? {
    if let subject = self["sub"]?.string { return subject }
    if let name = preset?.subjectMember {
      return members.first { $0.key.string == name }?.value.string
    }
    return self["id"]?.string ?? self["id"]?.integer.map(String.init)
  }

  /// True if an answer of userinfo is about this person. One that names no person must not be used (OpenID Connect Core
  /// §5.3.2).
  package func names(_ subject: String, by preset: ProviderPreset?) -> Bool {
    self.subject(namedBy: preset).map { equalCodePoints($0, subject) } ?? false
  }
}
