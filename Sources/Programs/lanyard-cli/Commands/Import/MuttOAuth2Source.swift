import CommandSupport
import JSONRPC

/// A token file of `mutt_oauth2.py`, one account: JSON, by default encrypted by GnuPG.
struct MuttOAuth2Source: ImportSource {
  let program = "mutt_oauth2"
  private let file: String

  init(_ request: ImportRequest) throws(CommandFailure) {
    guard let file = request.file else {
      throw .usage(
        "mutt_oauth2 has no usual place for its token file. Name the file.",
        hints: ["`lanyard import mutt_oauth2 FILE`; the file is the last word of the command in your mail program."])
    }
    self.file = file
  }

  func entries() throws(CommandFailure) -> [ImportEntry] {
    let (store, text) = try read()
    let entry: ImportEntry?? = text.withBytes { JSONInput.read($0) { Self.parse($0) } }
    guard let entry, var entry else {
      throw store.malformed("a JSON object with registration, email and refresh_token, plain or encrypted by GnuPG")
    }
    entry.place = store.named
    return [entry]
  }

  private func read() throws(CommandFailure) -> (StoreFile, HeldBytes) {
    let store = try StoreFile.require(file)
    guard !GnuPG.isEncrypted(store.contents) else { return (store, try GnuPG.decrypt(store)) }
    store.warnOfReaders()
    return (store, store.contents)
  }

  /// Nil for what is no token file.
  static func parse(_ node: JSONNode) -> ImportEntry? {
    guard let registration = node["registration"]?.string, node["refresh_token"]?.kind == .string else { return nil }
    let email = node["email"]?.string
    var entry = ImportEntry(name: email.flatMap { $0.isEmpty ? nil : $0 } ?? registration)
    entry.user = email
    entry.server = registration
    entry.refreshToken = HeldBytes(node["refresh_token"])
    if entry.refreshToken == nil { entry.lack = "it was never signed in, so it has no refresh token" }
    // Early versions have the client in the script alone.
    entry.clientID = node["client_id"]?.string.flatMap { $0.isEmpty ? nil : $0 }
    entry.clientSecret = HeldBytes(node["client_secret"])
    if entry.clientID == nil {
      entry.advice = [
        "The client is in the script: --client-id is `client_id` of its \(registration), --client-secret-file a file "
          + "with its `client_secret`."
      ]
    }
    switch registration {
    case "google":
      entry.issuer = "https://accounts.google.com"
      entry.scopes = ["https://mail.google.com/"]
    case "microsoft":
      entry.issuer = "https://login.microsoftonline.com/\(node["tenant"]?.string ?? "common")/v2.0"
      entry.scopes =
        ["offline_access"]
        + ["IMAP.AccessAsUser.All", "POP.AccessAsUser.All", "SMTP.Send"].map { "https://outlook.office.com/\($0)" }
    default: break
    }
    return entry
  }

  /// The script begins anew without its file.
  func remove(_ entry: ImportEntry) throws(CommandFailure) -> String {
    guard let store = try StoreFile.read(entry.place) else { return "\(entry.place) is gone already" }
    try store.delete()
    return "\(entry.place) is deleted"
  }

  func switchOver(to account: String) -> [String] {
    ["In the mail program replace the script by `lanyard token \(account)`."]
  }
}
