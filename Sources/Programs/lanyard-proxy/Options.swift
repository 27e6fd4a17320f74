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
  var json = false
  var mayStartAgent = true
  /// A descriptor of `lanyard exec`: the proxy ends when its other end is closed.
  var parent: Int32?

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
      case "--allow": allow.append(try rest.takeValue(of: word))
      case "--port":
        let text = try rest.takeValue(of: word)
        guard let number = UInt16(text) else { throw .usage("\(text) is no port.") }
        port = number
      case "--parent":
        let text = try rest.takeValue(of: word)
        guard let number = Int32(text), number > 2 else { throw .usage("\(text) is no descriptor.") }
        parent = number
      default: throw .usage("\(Text.shown(word)) is no option of lanyard-proxy: `lanyard proxy --help` lists them.")
      }
    }
  }
}
