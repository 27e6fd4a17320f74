import AgentCore
import CommandSupport

/// The options of `lanyard-proxy`. `lanyard proxy` has the same, and their help.
struct Options {
  /// The id of a grant, or the name of its client.
  var grant: String?
  var account: String?
  /// A unix socket instead of a port.
  var socket: String?
  /// 0: any that is free.
  var port: UInt16 = 0
  /// Narrows the origins; empty: all of the accounts.
  var allow: [String] = []
  /// Origins, and `*`, to which programs pass without a token.
  var pass: [String] = []
  var json = false
  var mayStartAgent = true
  /// Names variables with placeholders for the program.
  var givesPlaceholders = true
  /// A descriptor of `lanyard exec`: the proxy ends when its other end is closed.
  var parent: Int32?
  /// Origins of profiles of `lanyard sandbox`: those pass that no account serves and that the grant allows.
  var mayPass: [String] = []
  /// A descriptor from which the listening socket of a sandbox comes.
  var sandbox: Int32?
  /// Only prints what a proxy for a sandbox would forward.
  var onlyShows = false
  /// A sandbox does without a network, too.
  var mayForwardNothing: Bool { sandbox != nil || onlyShows }

  init(_ words: [String]) throws(CommandFailure) {
    var rest = OptionWords(words, help: "lanyard help proxy")
    while let word = rest.next() {
      switch word {
      case "--json": json = true
      case "--no-start": mayStartAgent = false
      case "--quiet", "-q": Output.beQuiet()
      case "--grant": grant = try rest.value(of: word)
      case "--account", "-u": account = try rest.value(of: word)
      case "--socket": socket = try rest.value(of: word)
      case "--allow":
        let text = try rest.value(of: word)
        guard let origin = RequestTarget.origins([text]).first else {
          throw .usage("\(Text.shown(text)) is no origin, such as https://api.example.")
        }
        allow.append(origin)
      case "--pass": pass.append(try Self.origin(rest.value(of: word)))
      case "--may-pass": mayPass.append(try Self.origin(rest.value(of: word)))
      case "--show": onlyShows = true
      case "--no-placeholders": givesPlaceholders = false
      case "--port": port = try rest.number(of: word)
      case "--parent": parent = try rest.number(of: word, atLeast: 3)
      case "--sandbox": sandbox = try rest.number(of: word, atLeast: 3)
      default: throw rest.unknown(word)
      }
    }
  }

  private static func origin(_ text: String) throws(CommandFailure) -> String {
    guard let origin = PassedOrigins.normal(text) else {
      throw .usage("\(Text.shown(text)) is no origin, such as https://pypi.example, and not *.")
    }
    return origin
  }
}
