internal import JSONRPC

/// A sign-in that a bridge began, as the other bridges of the server find it.
public struct PendingSignIn: Equatable, Sendable {
  public var provider: String
  /// The agent's name for it.
  public var signIn: String
  /// The page for the person.
  public var page: String
  /// The account that signs in again.
  public var account: String?

  public init(provider: String, signIn: String, page: String, account: String?) {
    self.provider = provider
    self.signIn = signIn
    self.page = page
    self.account = account
  }

  /// Nil for a text that no bridge wrote.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    var tape = JSONTape()
    guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return nil }
    let read = tape.withRoot(of: bytes) { root -> PendingSignIn? in
      guard let provider = root["provider"]?.string, let signIn = root["signIn"]?.string,
        let page = root["page"]?.string
      else { return nil }
      return PendingSignIn(provider: provider, signIn: signIn, page: page, account: root["account"]?.string)
    }
    guard let read else { return nil }
    self = read
  }

  /// The text of the file.
  public var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("provider", provider)
    writer.member("signIn", signIn)
    writer.member("page", page)
    writer.member("account", account)
    writer.endObject()
    return writer.withBytes { [UInt8]($0) }
  }
}
