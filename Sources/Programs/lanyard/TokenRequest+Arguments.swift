import CommandSupport

extension TokenRequest {
  /// Parses the arguments after `lanyard`. Nil unless they are `token` and valid options: then `lanyard-cli` takes over
  /// and reports the mistake. `Commands/Token.swift` in `lanyard-cli` declares the same options.
  init?(arguments: some Sequence<String>) {
    var words = arguments.makeIterator()
    guard words.next() == "token" else { return nil }
    self.init()
    func value() -> String? {
      guard let value = words.next(), !value.hasPrefix("-") else { return nil }
      return value
    }
    while let word = words.next() {
      switch word {
      case "-t", "--minimum-lifetime":
        guard let seconds = value().flatMap({ Int($0) }), seconds >= 0 else { return nil }
        minimumLifetimeSeconds = seconds
      case "--timeout":
        guard let seconds = value().flatMap({ Int($0) }), (0...Self.longestTimeoutSeconds).contains(seconds) else {
          return nil
        }
        timeoutSeconds = seconds
      case "-s", "--scope":
        guard let scope = value() else { return nil }
        scopes.append(scope)
      case "--aud":
        guard let resource = value() else { return nil }
        self.resource = resource
      case "-u", "--account":
        guard let account = value() else { return nil }
        option = account
      case "-f", "--force": forced = true
      case "--id": identity = true
      case "--json": json = true
      case "--no-start": mayStart = false
      case "-q", "--quiet": Output.beQuiet()
      default:
        guard !word.hasPrefix("-"), account == nil else { return nil }
        account = word
      }
    }
    if identity, forced || !scopes.isEmpty || resource != nil { return nil }
  }
}
