import CommandSupport
import JSONRPC

/// The JSON file of a Google service account, with its private key
/// (https://developers.google.com/identity/protocols/oauth2/service-account, read on 2026-11-29).
struct GoogleServiceAccountSource: ImportSource {
  let program: String
  private let path: String

  init(_ request: ImportRequest) throws(CommandFailure) {
    guard let file = request.file else {
      throw .usage("Name the JSON file of the service account. Nothing was changed.")
    }
    path = file
    program = AgentPaths.file(of: file)
  }

  func entries() throws(CommandFailure) -> [ImportEntry] {
    let store = try StoreFile.require(path)
    guard let account = GoogleServiceAccount(store.contents) else {
      throw store.malformed(
        "the JSON key of a Google service account, with `type` `service_account`, `client_email`, `private_key` and "
          + "`token_uri`")
    }
    store.warnOfReaders()
    var entry = ImportEntry(name: account.email)
    entry.issuer = Self.issuer
    entry.clientID = account.email
    entry.scopes = Self.usualScopes
    entry.place = path
    entry.machine = ImportEntry.Machine(key: account.key, tokenURL: account.tokenURL)
    return [entry]
  }

  private static let issuer = "https://accounts.google.com"
  /// Google Cloud as a whole; what the service account may do there decides.
  private static let usualScopes = ["https://www.googleapis.com/auth/cloud-platform"]

  func remove(_ entry: ImportEntry) throws(CommandFailure) -> String {
    let store = try StoreFile.require(entry.place)
    guard let account = GoogleServiceAccount(store.contents), account.key == entry.machine?.key else {
      throw store.unchanged("the key in it has changed meanwhile")
    }
    try store.delete()
    return "\(store.path) is deleted"
  }

  func leftover(of entry: ImportEntry) -> String? {
    "\(path) is not needed any more: the agent keeps the key, sealed. `--remove` deletes the file."
  }

  func warning(afterTaking count: Int) -> String { "Programs get its tokens from Lanyard:" }

  func switchOver(to account: String) -> [String] {
    ["`lanyard token \(account)`", "`lanyard exec \(account) -- COMMAND`"]
  }
}

/// What such a file says.
struct GoogleServiceAccount {
  let email: String
  /// The private key, as PEM.
  let key: HeldBytes
  let tokenURL: String

  /// Nil if the bytes are something else.
  init?(_ contents: HeldBytes) {
    let read = contents.withBytes { bytes in
      JSONInput.read(bytes) { node -> (String, HeldBytes, String)? in
        guard node["type"]?.string == "service_account", let email = node["client_email"]?.string,
          let key = HeldBytes(node["private_key"]), let url = node["token_uri"]?.string, !url.isEmpty
        else { return nil }
        return (email, key, url)
      } ?? nil
    }
    guard let (email, key, tokenURL) = read, !email.isEmpty else { return nil }
    (self.email, self.key, self.tokenURL) = (email, key, tokenURL)
  }
}
