internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentServing
internal import FileRules
internal import Glibc
internal import HTTPAdapter
internal import UsageWords

/// The options of `lanyard-agent`, from its arguments and its environment (docs/protocol.md, Programs).
struct Options {
  enum Transport {
    case stdio
    case socket(String)

    /// The path of the socket; nil for stdin and stdout.
    var socket: String? { if case .socket(let path) = self { path } else { nil } }
  }

  private(set) var transport = Transport.stdio
  private(set) var stateDirectory = ""
  /// By its name in the contract: `keyFile`, `passphrase`, `secretService`, `systemdCredential`.
  var protection = "keyFile"
  var passphraseFile: String?
  var logLevel = LogLevel.notice
  /// The path of pinentry; nil searches the usual directories.
  var pinentry: String?
  /// Every caller must present a grant (docs/callers.md, Grants).
  var strictGrants = false
  /// The directory of the rollback anchor file, outside of the state directory; nil without a home directory.
  var anchorDirectory: String?
  /// Accept a store that is older than its anchor.
  var acceptsOldStore = false
  /// Begin an empty store where an anchor knows of one that is gone.
  var beginsNewStore = false
  /// `$CREDENTIALS_DIRECTORY` of the service manager; nil if it is not set.
  var credentialsDirectory: String?
  var locking = LockingRules()
  /// `--config`
  private(set) var configurationFile: String?
  /// Where the configuration file is looked for; nil without a home directory.
  private(set) var usualConfigurationFile: String?
  /// The file that was read.
  var configuration: ConfigurationFile?
  /// `--system-directory`: the administrator's directory, where the machine has none at the usual place.
  private(set) var systemDirectory: String?
  /// What was read of the administrator's directory.
  var administrator: AdministratorFile?
  /// What counts of both files and these options.
  var inForce = AgentConfiguration()
  /// The members that the administrator enforces, and that these options or the person's file give another value.
  var overruled: [String] = []
  var limits = ServingLimits()
  var network = ConnectionDefaults()
  /// `--require-locked-memory`: do not start where secrets may be written to swap.
  private(set) var requiresLockedMemory = false
  /// `--check`: examine the store, print the findings and exit.
  var checksOnly = false

  /// Why reading the command line ends without options.
  enum Ending: Error {
    case help, version
    case usage(String)
  }

  /// Reads the arguments.
  ///
  /// - Parameter environment: the value of a variable; nil if it is empty or not set.
  init(_ arguments: [String], environment: (String) -> String?) throws(Ending) {
    var rest = arguments[...]
    var serving = ServingArguments()
    while let argument = rest.popFirst() {
      let parts = argument.hasPrefix("--") ? argument.split(separator: "=", maxSplits: 1) : []
      let option = parts.first.map(String.init) ?? argument
      let attached = parts.count == 2 ? String(parts[1]) : nil
      if try takeFlag(option, attached, &serving) { continue }
      guard Self.optionsWithValue.contains(option) else {
        // A word that is no option may be a secret in the wrong place, and this sentence ends in a log.
        let mistake = argument.hasPrefix("--") ? Mistake.unknown(Mistake.escaped(argument)) : "Unknown option."
        throw .usage("\(mistake) See --help.")
      }
      guard let value = attached ?? rest.popFirst() else { throw .usage(Mistake.missingValue(of: option)) }
      try take(option, value, &serving)
    }
    guard !(serving.isStdio && serving.socket != nil) else { throw .usage(Mistake.both("--stdio", "--socket")) }
    credentialsDirectory = environment("CREDENTIALS_DIRECTORY")
    anchorDirectory = Self.configurationDirectory(environment).map { $0 + "/anchors" }
    usualConfigurationFile = Self.configurationDirectory(environment).map { $0 + "/agent.json" }
    network = ConnectionDefaults(environment: environment)
    stateDirectory = if let state = serving.state { state } else { try Self.standardStateDirectory(environment) }
    if serving.isStdio || checksOnly { return }
    let socket = if let given = serving.socket { given } else { try Self.standardSocket(environment) }
    // A relative path names another file in every directory.
    guard socket.hasPrefix("/") else { throw .usage("--socket needs an absolute path.") }
    transport = .socket(socket)
  }

  /// Arguments whose defaults come from the environment.
  private struct ServingArguments {
    var isStdio = false
    var socket: String?
    var state: String?
  }

  private static let optionsWithValue: Set<String> = [
    "--socket", "--state-dir", "--protection", "--passphrase-file", "--pinentry", "--log-level", "--lock-after",
    "--lock-on", "--config", "--system-directory",
  ]

  /// False if `option` is no flag.
  private mutating func takeFlag(_ option: String, _ attached: String?, _ serving: inout ServingArguments)
    throws(Ending) -> Bool
  {
    switch option {
    case "--stdio": serving.isStdio = true
    case "--accept-old-store": acceptsOldStore = true
    case "--new-store": beginsNewStore = true
    case "--check": checksOnly = true
    case "--require-locked-memory": requiresLockedMemory = true
    case "--strict-grants":
      guard attached == nil else { throw .usage("--strict-grants takes no value.") }
      strictGrants = true
    case "--help", "-h": throw .help
    case "--version": throw .version
    default: return false
    }
    return true
  }

  private mutating func take(_ option: String, _ value: String, _ serving: inout ServingArguments) throws(Ending) {
    switch option {
    case "--socket": serving.socket = value
    case "--state-dir": serving.state = value
    case "--protection":
      guard let name = Self.protections[value] else {
        throw .usage("--protection is key-file, passphrase, secret-service or systemd-credential.")
      }
      protection = name
    case "--passphrase-file": passphraseFile = value
    case "--config":
      guard value.hasPrefix("/") else { throw .usage("--config needs an absolute path.") }
      configurationFile = value
    case "--system-directory":
      guard value.hasPrefix("/") else { throw .usage("--system-directory needs an absolute path.") }
      systemDirectory = value
    case "--pinentry":
      guard value.hasPrefix("/") else { throw .usage("--pinentry needs an absolute path.") }
      pinentry = value
    case "--log-level":
      guard let level = LogLevel(rawValue: value) else {
        throw .usage("--log-level is one of \(LogLevel.allCases.map(\.rawValue).joined(separator: ", ")).")
      }
      logLevel = level
    case "--lock-after":
      guard let seconds = Int64(value), (1...Self.longestIdleSeconds).contains(seconds) else {
        throw .usage("--lock-after is a number of seconds, from 1 to \(Self.longestIdleSeconds).")
      }
      locking.idle = .seconds(seconds)
    default: try takeLockEvents(value)
    }
  }

  /// `--lock-on`
  private mutating func takeLockEvents(_ list: String) throws(Ending) {
    for word in list.split(separator: ",", omittingEmptySubsequences: false) {
      switch word {
      case "sleep": locking.onSleep = true
      case "screen": locking.onScreenLock = true
      default: throw .usage("--lock-on is sleep, screen or both, with a comma between.")
      }
    }
  }

  /// The contract's names by those of the command line.
  private static let protections = [
    "key-file": "keyFile", "passphrase": "passphrase", "secret-service": "secretService",
    "systemd-credential": "systemdCredential",
  ]

  /// A year.
  private static let longestIdleSeconds: Int64 = 31_536_000

  private static func standardStateDirectory(_ environment: (String) -> String?) throws(Ending) -> String {
    do throws(StatePlace.Fault) { return try StatePlace.path(environment: environment) } catch {
      throw .usage("\(error.description) Set it, or give --state-dir.")
    }
  }

  private static func configurationDirectory(_ environment: (String) -> String?) -> String? {
    if let base = environment("XDG_CONFIG_HOME"), base.hasPrefix("/") { return base + "/lanyard" }
    guard let home = environment("HOME"), home.hasPrefix("/") else { return nil }
    return home + "/.config/lanyard"
  }

  private static func standardSocket(_ environment: (String) -> String?) throws(Ending) -> String {
    do throws(SocketPlace.Fault) {
      return try SocketPlace().path(environment: environment)
    } catch {
      throw .usage("\(error) Give --socket.")
    }
  }
}
