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
    var rest = words[...]
    while let word = rest.popFirst() {
      switch word {
      case "--json": json = true
      case "--no-start": mayStartAgent = false
      case "--quiet", "-q": Output.beQuiet()
      case "--grant": grant = try rest.takeValue(of: word)
      case "--account", "-u": account = try rest.takeValue(of: word)
      case "--socket": socket = try rest.takeValue(of: word)
      case "--allow":
        let text = try rest.takeValue(of: word)
        guard let origin = RequestTarget.origins([text]).first else {
          throw .usage("\(Text.shown(text)) is no origin, such as https://api.example.")
        }
        allow.append(origin)
      case "--pass": pass.append(try Self.origin(rest.takeValue(of: word)))
      case "--may-pass": mayPass.append(try Self.origin(rest.takeValue(of: word)))
      case "--show": onlyShows = true
      case "--no-placeholders": givesPlaceholders = false
      case "--port":
        let text = try rest.takeValue(of: word)
        guard let number = UInt16(text) else { throw .usage("\(text) is no port.") }
        port = number
      case "--parent": parent = try Self.descriptor(rest.takeValue(of: word))
      case "--sandbox": sandbox = try Self.descriptor(rest.takeValue(of: word))
      default: throw .usage("\(Text.shown(word)) is no option of lanyard-proxy: `lanyard proxy --help` lists them.")
      }
    }
  }

  private static func origin(_ text: String) throws(CommandFailure) -> String {
    guard let origin = PassedOrigins.normal(text) else {
      throw .usage("\(Text.shown(text)) is no origin, such as https://pypi.example, and not *.")
    }
    return origin
  }

  private static func descriptor(_ text: String) throws(CommandFailure) -> Int32 {
    guard let number = Int32(text), number > 2 else { throw .usage("\(text) is no descriptor.") }
    return number
  }
}
