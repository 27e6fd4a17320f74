internal import Agent
internal import AgentModel
internal import AgentPorts
internal import Glibc

/// What the command line and the environment say (docs/protocol.md, Programs).
struct Options {
  enum Transport {
    case stdio
    case socket(String)
  }

  var transport: Transport
  var stateDirectory: String
  /// As the contract names it: `keyFile`, `passphrase`, `secretService`, `systemdCredential`.
  var protection = "keyFile"
  var passphraseFile: String?
  var logLevel = LogLevel.notice
  /// Nil for the one that the machine has.
  var pinentry: String?
  /// Everybody must bring a grant (docs/callers.md, Grants).
  var strictGrants = false
  /// Where the witness of how far the store has come stands, outside the state; nil where there is no place for it.
  var anchorDirectory: String?
  /// The store is older than its anchor, and there is no other.
  var acceptsOldStore = false
  /// Where the service manager hands over credentials; nil where it does not.
  var credentialsDirectory: String?
  var locking = LockingRules()
  /// Looks at the store, tells what it found, and ends.
  var checksOnly = false

  /// How reading the command line ends when it is not with options.
  enum Ending: Error {
    case help, version
    case usage(String)
  }

  init(_ arguments: [String], environment: (String) -> String?) throws(Ending) {
    var stdio = false
    var socket: String?
    var state: String?
    var rest = arguments[...]
    func value(_ option: String, _ attached: String?) throws(Ending) -> String {
      if let attached { return attached }
      guard let next = rest.popFirst() else { throw .usage("\(option) needs a value.") }
      return next
    }
    while let argument = rest.popFirst() {
      let parts = argument.hasPrefix("--") ? argument.split(separator: "=", maxSplits: 1) : []
      let option = parts.first.map(String.init) ?? argument
      let attached = parts.count == 2 ? String(parts[1]) : nil
      switch option {
      case "--stdio": stdio = true
      case "--socket": socket = try value(option, attached)
      case "--state-dir": state = try value(option, attached)
      case "--protection":
        switch try value(option, attached) {
        case "key-file": protection = "keyFile"
        case "passphrase": protection = "passphrase"
        case "secret-service": protection = "secretService"
        case "systemd-credential": protection = "systemdCredential"
        default: throw .usage("--protection is key-file, passphrase, secret-service or systemd-credential.")
        }
      case "--passphrase-file": passphraseFile = try value(option, attached)
      case "--pinentry":
        let path = try value(option, attached)
        guard path.hasPrefix("/") else { throw .usage("--pinentry needs an absolute path.") }
        pinentry = path
      case "--accept-old-store": acceptsOldStore = true
      case "--check": checksOnly = true
      case "--log-level":
        guard let level = LogLevel(rawValue: try value(option, attached)) else {
          throw .usage("--log-level is one of \(LogLevel.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        logLevel = level
      case "--lock-after":
        guard let seconds = Int64(try value(option, attached)), (1...Self.longestIdle).contains(seconds) else {
          throw .usage("--lock-after is a number of seconds, from 1 to \(Self.longestIdle).")
        }
        locking.idle = .seconds(seconds)
      case "--lock-on":
        for word in try value(option, attached).split(separator: ",", omittingEmptySubsequences: false) {
          switch word {
          case "sleep": locking.onSleep = true
          case "screen": locking.onScreenLock = true
          default: throw .usage("--lock-on is sleep, screen or both, with a comma between.")
          }
        }
      case "--strict-grants":
        guard attached == nil else { throw .usage("--strict-grants takes no value.") }
        strictGrants = true
      case "--help", "-h": throw .help
      case "--version": throw .version
      default: throw .usage("Unknown option. See --help.")
      }
    }
    guard !(stdio && socket != nil) else { throw .usage("--stdio and --socket exclude each other.") }
    credentialsDirectory = environment("CREDENTIALS_DIRECTORY")
    anchorDirectory = Self.anchorDirectory(environment)
    if let state { stateDirectory = state } else { stateDirectory = try Self.standardStateDirectory(environment) }
    if stdio || checksOnly {
      transport = .stdio
    } else if let socket {
      // A bare path means something else in each directory; programs find the socket by one that does not.
      guard socket.hasPrefix("/") else { throw .usage("--socket needs an absolute path.") }
      transport = .socket(socket)
    } else {
      transport = .socket(try Self.standardSocket(environment))
    }
  }

  /// A year: whoever wants longer wants never.
  private static let longestIdle: Int64 = 31_536_000

  private static func standardStateDirectory(_ environment: (String) -> String?) throws(Ending) -> String {
    if let directory = environment("LANYARD_STATE_DIR") { return directory }
    if let base = environment("XDG_STATE_HOME"), base.hasPrefix("/") { return base + "/lanyard" }
    guard let home = environment("HOME"), home.hasPrefix("/") else {
      throw .usage("There is no home directory for the state. Give --state-dir.")
    }
    return home + "/.local/state/lanyard"
  }

  private static func anchorDirectory(_ environment: (String) -> String?) -> String? {
    if let base = environment("XDG_CONFIG_HOME"), base.hasPrefix("/") { return base + "/lanyard/anchors" }
    guard let home = environment("HOME"), home.hasPrefix("/") else { return nil }
    return home + "/.config/lanyard/anchors"
  }

  private static func standardSocket(_ environment: (String) -> String?) throws(Ending) -> String {
    if let socket = environment("LANYARD_SOCKET") {
      guard socket.hasPrefix("/") else { throw .usage("LANYARD_SOCKET must be an absolute path.") }
      return socket
    }
    guard let base = environment("XDG_RUNTIME_DIR"), base.hasPrefix("/") else {
      throw .usage("XDG_RUNTIME_DIR is not set, so there is no place for the socket. Give --socket.")
    }
    return base + "/lanyard/agent.sock"
  }

  static let help = """
    lanyard-agent: keeps the accounts of one person, and answers local programs over JSON-RPC.

    USAGE: lanyard-agent [--stdio | --socket PATH] [--state-dir DIR] [--protection KIND]
                         [--passphrase-file PATH] [--accept-old-store] [--pinentry PATH] [--log-level LEVEL]
                         [--strict-grants] [--lock-after SECONDS] [--lock-on sleep,screen] [--check]

      --stdio                 Serve one client on standard input and output, and end with its input.
      --socket PATH           Serve on a unix socket. Default: $LANYARD_SOCKET, else $XDG_RUNTIME_DIR/lanyard/agent.sock.
      --state-dir DIR         Where the sealed store is. Default: $LANYARD_STATE_DIR, else $XDG_STATE_HOME/lanyard,
                              else ~/.local/state/lanyard.
      --protection KIND       What protects the store. key-file (default): a key beside the store, made at the first
                              start. passphrase: a person's passphrase; the agent starts locked until it is given by
                              agent.initialize or agent.unlock, or by --passphrase-file. secret-service: an item
                              in the keyring of your session; the agent starts locked while that is, and agent.unlock
                              has you asked. systemd-credential: the credential lanyard.key, by which the service
                              manager hands over a key. No kind falls back to another.
      --passphrase-file PATH  The passphrase, in a file that only you can read.
      --accept-old-store      Once, where an old copy of the store was put back and there is no newer one: signs every
                              account in it out and sends nothing of it, for its refresh tokens may be spent.
      --pinentry PATH         The program that asks for a PIN or passphrase. Default: pinentry in /usr/local/bin,
                              /usr/bin or /bin.
      --lock-after SECONDS    Lock the vault when no request has used it for so long; sleep of the machine counts.
      --lock-on EVENTS        Lock the vault before the machine sleeps (sleep), when the person's screen is locked
                              (screen), or both: sleep,screen. Told by systemd-logind. Without these two options the
                              vault stays open until lanyard lock: background programs get no token from a locked one.
      --log-level LEVEL       trace, debug, info, notice (default), warning or error, to standard error. No level
                              shows a token, a name or an address.
      --check                 Serve nobody: look at the store and what protects it, as far as that needs no person, and
                              print what was found as JSON. Changes nothing. Ends with 0, or 76 if a start would fail.
                              `lanyard doctor` runs this where no agent runs.
      --strict-grants         Serve nobody who brings no grant (`lanyard grant create`). Without it every program of
                              yours is trusted. `lanyard` itself comes in by the file owner-grant in the state directory.
      --version, --help

    Runs in the foreground until SIGTERM, SIGINT or agent.shutdown. It is ready when the socket accepts.

    EXIT: 0 ended as asked; 64 usage; 73 a directory can't be made or is not safe; 74 the store can't be read or
    written; 75 another agent has this state; 76 the vault can't be opened.

    """
}
