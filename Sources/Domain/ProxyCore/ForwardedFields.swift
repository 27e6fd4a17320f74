public import AgentCore
internal import AgentModel

/// The header fields of a program's request as they go on (docs/proxy.md, What goes on): the plain ones, in their order.
public struct ForwardedFields: Sendable {
  public private(set) var all: [(name: String, value: String)] = []
  /// The names of those that stay behind, and that the person may want to know of.
  public private(set) var leftOut: [LeftOut] = []

  /// A field that is not forwarded, although its program may count on it.
  public struct LeftOut: Hashable, Sendable {
    /// In lower case.
    public let name: String
    /// What it is, for a sentence.
    public let reason: String
  }

  /// - Throws: the refusal of a field without which the server would do something else.
  init(_ head: RequestHead, under names: RequestNames) throws(Refusal) {
    // RFC 9110 section 7.6.1: `Connection` names more fields that are about the connection.
    let ofConnection = Set(head.values("connection").flatMap { FieldSyntax.tokens(of: $0) })
    for field in head.fields {
      let name = field.name.lowercased()
      guard !ofConnection.contains(name), !name.hasPrefix(WebSocketHandshake.prefix) else { continue }
      // The program was given it; no person has to know.
      guard !Placeholder.stands(in: field.value) else { continue }
      switch names.field(field.name) {
      case .plain: all.append(field)
      case .reserved, .hiding: break
      case .unknown: leaveOut(name, "it is not known as a plain field")
      case .telling(.credential): leaveOut(name, "it names a credential of the program's own")
      case .telling(.identity), .telling(.address): leaveOut(name, "servers take who and where the caller is from it")
      case .telling(.method), .telling(.path), .telling(.person):
        throw Refusal(
          400, "overrideRefused",
          "The proxy forwards no \(name): a server may take it for another method, path or person.")
      }
    }
  }

  private mutating func leaveOut(_ name: String, _ reason: String) {
    leftOut.append(LeftOut(name: name, reason: reason))
  }
}

extension Refusal {
  /// The refusal of a URL whose parameter tells something (RFC 6750 section 2.3).
  static func parameter(_ name: String, _ meaning: RequestNames.Meaning) -> Refusal {
    let name = String(name.unicodeScalars.prefix(mostShown).filter { (0x21..<0x7F).contains($0.value) })
    guard meaning == .credential else {
      return Refusal(
        400, "overrideRefused",
        "The proxy forwards no \(name) in a URL: a server may take it for another method, field, path or person.")
    }
    return Refusal(
      400, "credentialInURL",
      "The URL has a credential of the program's own (\(name)). Leave it out: the proxy adds the token.")
  }

  private static let mostShown = 64

  /// The refusal of a form.
  public init(_ refusal: FormNames.Refusal) {
    switch refusal {
    case .telling(.credential):
      self.init(
        400, "credentialInForm",
        "The form has a credential of the program's own. Leave it out: the proxy adds the token.")
    case .telling:
      self.init(
        400, "overrideRefused",
        "The proxy forwards no such form: a server may take one of its parameters for another method, field, path or person."
      )
    case .unreadable:
      self.init(
        400, "formUnreadable",
        "The proxy could not look into the form: it is compressed, in another charset than UTF-8, or malformed.")
    }
  }
}
