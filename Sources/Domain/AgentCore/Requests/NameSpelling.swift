internal import AgentModel

/// A name of a field or a parameter without what servers disregard: case and marks. Servers behind CGI or WSGI read `_` as
/// `-` (RFC 3875 §4.1.18), PHP reads `.` and a space as `_`, and some read every mark so.
struct NameSpelling {
  /// The letters and digits in lower case.
  let letters: [UInt8]
  /// The same, parted at marks and at the humps of `camelCase`.
  let words: [String]
  /// A mark stands before the first letter, as in `_method` and `$httpMethod`.
  let beginsWithMark: Bool
  /// As it is written.
  private let written: [UInt8]

  var text: String { String(decoding: letters, as: UTF8.self) }

  init(_ name: String) { self.init(bytes: Array(name.utf8)[...]) }

  init(bytes: ArraySlice<UInt8>) {
    var (letters, words, word): ([UInt8], [String], [UInt8]) = ([], [], [])
    let isUpper = { (byte: UInt8) in byte &- UInt8(ascii: "A") < 26 }
    for index in bytes.indices {
      let byte = bytes[index]
      guard FieldSyntax.isAlphanumeric(byte) else {
        if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
        word = []
        continue
      }
      let isHump =
        isUpper(byte) && index > bytes.startIndex
        && (!isUpper(bytes[index - 1]) || index + 1 < bytes.endIndex && bytes[index + 1] &- UInt8(ascii: "a") < 26)
      if isHump, !word.isEmpty {
        words.append(String(decoding: word, as: UTF8.self))
        word = []
      }
      let lower = isUpper(byte) ? byte | 0x20 : byte
      letters.append(lower)
      word.append(lower)
    }
    if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
    self.letters = letters
    self.words = words
    beginsWithMark = bytes.first.map { !FieldSyntax.isAlphanumeric($0) } ?? false
    written = Array(bytes)
  }

  func has(_ part: StaticString) -> Bool {
    let count = part.utf8CodeUnitCount
    guard letters.count >= count else { return false }
    return letters.withUnsafeBufferPointer { letters in
      (0...(letters.count - count)).contains { start in
        (0..<count).allSatisfy { letters[start + $0] == part.utf8Start[$0] }
      }
    }
  }

  /// Has the letters of `name`, which is in lower case.
  func isSame(as name: StaticString) -> Bool {
    var rest = letters[...]
    for byte in UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    where FieldSyntax.isAlphanumeric(byte) {
      guard rest.popFirst() == byte else { return false }
    }
    return rest.isEmpty
  }

  func isWritten(_ text: StaticString) -> Bool {
    written.count == text.utf8CodeUnitCount
      && written.indices.allSatisfy { (written[$0] | 0x20) == (text.utf8Start[$0] | 0x20) }
  }
}

/// What names tell. The parts are compared with the letters of a name, so that no mark and no missing mark hides one.
extension NameSpelling {
  /// What a field and a parameter of this name tells.
  var meaning: RequestNames.Meaning? {
    let text = text
    if Self.methods.contains(where: has) || beginsWithMark && (text == "method" || text == "verb") || text == "xmethod"
    {
      return .method
    }
    if Self.paths.contains(where: has) { return .path }
    if Self.persons.contains(where: has) || Self.wholePersons.contains(text) { return .person }
    if Self.credentials.contains(where: has) || Self.wholeCredentials.contains(text) || isToken || isKey {
      return .credential
    }
    return nil
  }

  /// What a parameter tells that as a field would not.
  var meaningOfParameter: RequestNames.Meaning? {
    if isWritten("user.name") { return .person }  // Hadoop
    // Phalcon and other routers take the path from the query.
    return beginsWithMark && ["path", "route", "uri", "url"].contains(text) ? .path : nil
  }

  /// What a field tells that as a parameter would be data of an API, as a user or an e-mail address is.
  var meaningOfField: RequestNames.Meaning? {
    if words.contains(where: Self.methodWords.contains) || has("xamztarget") { return .method }
    if words.contains("destination") || words.contains("host") || has("copysource") || has("sendfile") { return .path }
    if has("forwarded") || Self.addresses.contains(where: has) || text == "via" { return .address }
    if words.contains(where: { Self.credentialWords.contains($0) || $0.hasPrefix("auth") && !$0.hasPrefix("author") }) {
      return .credential
    }
    return words.contains(where: Self.identityWords.contains) ? .identity : nil
  }

  // MARK: tokens and keys

  /// Names a token that is no place in a list and no number of tokens.
  private var isToken: Bool {
    guard has("token") else { return false }
    let text = text.hasPrefix("x") ? String(text.dropFirst()) : text
    return !Self.plainTokens.contains(text)
  }

  private static let plainTokens: Set<String> = [
    "changetoken", "continuationtoken", "continuetoken", "cursortoken", "deltatoken", "idempotencytoken", "inputtokens",
    "listtoken", "maxcompletiontokens", "maxnewtokens", "maxoutputtokens", "maxtokens", "nextpagetoken",
    "nextsynctoken", "nexttoken", "numtokens", "outputtokens", "pagetoken", "paginationtoken", "previouspagetoken",
    "prevpagetoken", "prevtoken", "resumetoken", "scrolltoken", "skiptoken", "startingtoken", "startpagetoken",
    "starttoken", "synctoken", "tokencount", "tokenlimit", "tokentype", "tokentypehint", "totaltokens", "watchtoken",
  ]

  /// A key that opens something. `issue_key` and `sort-key` are data.
  private var isKey: Bool {
    guard letters.suffix(3).elementsEqual("key".utf8) else { return false }
    let text = text
    return Self.keyHolders.contains { text.hasSuffix($0 + "key") }
  }

  private static let keyHolders = [
    "admin", "api", "app", "application", "auth", "client", "consumer", "functions", "license", "master", "private",
    "secret", "service", "session", "shared", "signing", "subscription", "user",
  ]

  // MARK: the parts

  private static let methods: [StaticString] = [
    "httpmethod", "methodoverride", "overridemethod", "originalmethod", "forwardedmethod", "httpverb",
    // `$httpHeaders` of Google's APIs puts a request with any field into a plain one.
    "httpheader",
  ]

  private static let paths: [StaticString] = [
    "originalurl", "originaluri", "originalpath", "originalhost", "rewriteurl", "rewriteuri", "rewritepath",
    "forwardeduri", "forwardedurl", "forwardedpath", "forwardedprefix", "unencodedurl", "restroute",
  ]

  private static let persons: [StaticString] = [
    "impersonat", "switchuser", "selectuser", "selectadmin", "behalfof", "masquerade", "assumeuser", "assumerole",
    "proxyuser", "effectiveuser", "requestorid", "runasuser",
  ]

  private static let wholePersons: Set<String> = [
    "actas", "asadmin", "asuser", "asuserid", "authuser", "doas", "doasuser", "loginas", "runas", "sudo", "sudoas",
    "suas", "xactas", "xasuser", "xdoas", "xloginas", "xrunas", "xsudo",
  ]

  private static let credentials: [StaticString] = [
    "password", "passwd", "passphrase", "passcode", "secret", "apikey", "accesskey", "credential", "authorization",
    "authentication", "assertion", "samlresponse", "samlart", "bearer", "sessionid", "sessid", "cookie", "signature",
    "jwt", "clientcert", "sslclient", "tlsclient", "basicauth", "delegation",
  ]

  private static let wholeCredentials: Set<String> = [
    "auth", "authn", "authz", "hmac", "keypairid", "otp", "pat", "pwd", "sas", "sid", "sig", "totp", "xauth",
    "xkey", "xsid", "xsig",
  ]

  private static let methodWords: Set<String> = ["action", "method", "override", "soapaction", "verb"]

  private static let addresses: [StaticString] = [
    "clientip", "connectingip", "realip", "remoteip", "remoteaddr", "originatingip",
  ]

  private static let credentialWords: Set<String> = [
    "cert", "certificate", "iap", "key", "mfa", "oidc", "otp", "saml", "session", "sid", "sso", "ticket",
  ]

  private static let identityWords: Set<String> = [
    "account", "accounts", "actor", "admin", "dn", "email", "group", "groups", "identity", "login", "member", "owner",
    "person", "principal", "role", "roles", "subject", "uid", "upn", "user", "userid", "username", "userprincipalname",
  ]
}
