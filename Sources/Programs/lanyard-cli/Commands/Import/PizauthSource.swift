import CommandSupport

/// `pizauth.conf`: the accounts of pizauth. Their tokens are in its memory; `pizauth dump` writes them in a form that is
/// pizauth's own and changes with its versions, so only the providers can be taken over.
struct PizauthSource: ImportSource {
  let program = "pizauth"
  private let file: String?

  init(_ request: ImportRequest) { file = request.file }

  func entries() throws(CommandFailure) -> [ImportEntry] {
    let usual = try StoreFile.configuration("pizauth.conf")
    guard let store = try StoreFile.named(file, orUsual: usual) else { return [] }
    guard let accounts = PizauthConfiguration(store.contents)?.accounts else {
      throw store.malformed(#"pizauth.conf, with account "NAME" { client_id = "…"; auth_uri = "…"; token_uri = "…"; }"#)
    }
    if accounts.contains(where: { $0.clientSecret != nil }) { store.warnOfReaders() }
    return accounts.map { account in
      var entry = ImportEntry(name: account.name)
      entry.clientID = account.clientID
      entry.clientSecret = account.clientSecret
      entry.scopes = account.scopes
      entry.user = account.loginHint
      entry.lack = "pizauth does not give its refresh tokens away"
      entry.offersProvider = true
      entry.advice = ["Sign in: `lanyard login PROVIDER --alias \(ErrorMessages.shellWord(account.name))`."]
      Self.locate(&entry, authorization: account.authorization, token: account.token)
      return entry
    }.named()
  }

  /// The issuer of the two endpoints. Where it is not known, they are given beside the origin of the token endpoint.
  private static func locate(_ entry: inout ImportEntry, authorization: String, token: String) {
    guard let origin = WebOrigin(token) else { return }
    entry.server = origin.text
    switch origin.host {
    case "oauth2.googleapis.com", "accounts.google.com", "www.googleapis.com":
      entry.issuer = "https://accounts.google.com"
    case "login.microsoftonline.com":
      let tenant = origin.path.split(separator: "/").first.map(String.init) ?? "common"
      entry.issuer = "\(origin.text)/\(tenant)/v2.0"
    default:
      entry.issuer = origin.text
      entry.endpoints = ImportEntry.Endpoints(authorization: authorization, token: token)
    }
  }

  func remove(_ entry: ImportEntry) throws(CommandFailure) -> String {
    throw CommandFailure(
      .other, name: "notRemoved", "No token of pizauth was taken over, so nothing was removed.",
      hints: ["After `lanyard login`: cut the account out of pizauth.conf, then `pizauth reload`."])
  }

  func switchOver(to account: String) -> [String] {
    ["`lanyard token \(account)` prints what `pizauth show` printed."]
  }
}

/// The accounts of a `pizauth.conf` (pizauth.conf(5)).
struct PizauthConfiguration {
  struct Account {
    let name: String
    var clientID: String?
    var clientSecret: HeldBytes?
    var authorization = ""
    var token = ""
    var scopes: [String] = []
    var loginHint: String?
  }

  private(set) var accounts: [Account] = []

  /// Nil if the bytes are something else.
  init?(_ contents: HeldBytes) {
    guard let words = contents.withBytes({ PizauthScanner.words(of: $0) }) else { return nil }
    var rest = words[...]
    while let first = rest.popFirst() {
      guard case .name(let key) = first else { return nil }
      if key != "account" {
        guard Self.skipValue(&rest) != nil else { return nil }
        continue
      }
      guard case .text(let name)? = rest.popFirst(), rest.popFirst() == .sign("{") else { return nil }
      var account = Account(name: contents.text(name))
      while let word = rest.popFirst(), word != .sign("}") {
        guard case .name(let key) = word, let value = Self.skipValue(&rest) else { return nil }
        let texts = value.compactMap { word in if case .text(let range) = word { range } else { nil } }
        Self.set(key, texts, of: &account, contents)
      }
      guard !account.authorization.isEmpty, !account.token.isEmpty, account.clientID != nil else { return nil }
      accounts.append(account)
    }
  }

  private static func set(_ key: String, _ texts: [Range<Int>], of account: inout Account, _ contents: HeldBytes) {
    guard let first = texts.first else { return }
    let text = { (range: Range<Int>) in
      let plain = unescaped(contents.part(range))
      return plain.text(0..<plain.count)
    }
    switch key {
    case "client_id": account.clientID = text(first)
    case "client_secret": account.clientSecret = unescaped(contents.part(first))
    case "auth_uri": account.authorization = text(first)
    case "token_uri": account.token = text(first)
    case "login_hint": account.loginHint = text(first)
    case "scopes": account.scopes = texts.map(text)
    default: break
    }
  }

  /// A backslash stands before a quote or a backslash.
  private static func unescaped(_ text: HeldBytes) -> HeldBytes {
    let plain = HeldBytes(capacity: text.count)
    text.withBytes { bytes in
      var index = 0
      while index < bytes.count {
        let isEscape = bytes[index] == UInt8(ascii: "\\") && index + 1 < bytes.count
        if isEscape, #""\"#.utf8.contains(bytes[index + 1]) { index += 1 }
        plain.append(UnsafeRawBufferPointer(rebasing: bytes[index...index]))
        index += 1
      }
    }
    return plain
  }

  /// The words between `=` and `;`; nil if these are missing.
  private static func skipValue(_ rest: inout ArraySlice<PizauthScanner.Word>) -> [PizauthScanner.Word]? {
    guard rest.popFirst() == .sign("=") else { return nil }
    var value: [PizauthScanner.Word] = []
    while let word = rest.popFirst() {
      if word == .sign(";") { return value }
      value.append(word)
    }
    return nil
  }
}

enum PizauthScanner {
  enum Word: Equatable {
    /// A key, a number with its unit, or a word.
    case name(String)
    /// What is between two quotes: a range, since it may be a secret.
    case text(Range<Int>)
    case sign(Character)
  }

  /// Nil for a text without its second quote, and for a sign that the configuration does not have.
  static func words(of bytes: UnsafeRawBufferPointer) -> [Word]? {
    var words: [Word] = []
    var index = 0
    let isLetter = { (byte: UInt8) in
      byte == UInt8(ascii: "_") || 0x30...0x39 ~= byte || 0x41...0x5A ~= byte || 0x61...0x7A ~= byte
    }
    while index < bytes.count {
      let (start, byte) = (index, bytes[index])
      index += 1
      switch byte {
      case 0x09...0x0D, 0x20: continue
      case UInt8(ascii: "/"):
        guard index < bytes.count, bytes[index] == byte else { return nil }
        while index < bytes.count, bytes[index] != 0x0A { index += 1 }
      case UInt8(ascii: "\""):
        while index < bytes.count, bytes[index] != byte { index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1 }
        guard index < bytes.count else { return nil }
        words.append(.text(start + 1..<index))
        index += 1
      case _ where isLetter(byte):
        while index < bytes.count, isLetter(bytes[index]) { index += 1 }
        words.append(.name(String(decoding: bytes[start..<index], as: UTF8.self)))
      case _ where "={}[],;:".utf8.contains(byte): words.append(.sign(Character(Unicode.Scalar(byte))))
      default: return nil
      }
    }
    return words
  }
}
