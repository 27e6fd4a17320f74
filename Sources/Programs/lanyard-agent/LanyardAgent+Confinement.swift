internal import AgentPorts
internal import Glibc
internal import HTTPAdapter
internal import SQLiteStore
internal import SystemAdapters
internal import UnixTransport

/// How this process is confined, and the broker that does what it can't do itself.
struct Confined {
  var broker: Broker
  /// Nil for a process that does not confine itself: `--check`.
  var inForce: Confinement?
}

/// The agent confines itself (docs/callers.md, Confinement).
extension LanyardAgent {
  /// Restricts this process to its own files and to the calls that it needs.
  static func confine(_ options: Options, _ state: PrivateDirectory, _ broker: Broker) -> Confined {
    let result = ProcessConfinement.apply(.system.union(FileAccess(of: options, state)))
    for sentence in result.missing { say("lanyard-agent: less confined than it could be: \(sentence)\n") }
    return Confined(broker: broker, inForce: result.inForce)
  }

  static func exchange(_ options: Options, _ clock: SystemClock, _ broker: Broker) -> CurlExchange {
    CurlExchange(clock: clock, defaults: options.network) { path in
      await BrokeredAuthorities.certificates(of: path, through: broker)
    }
  }

  static func processNames(_ broker: Broker) -> ProcessNames {
    ProcessNames { pid in broker.ask(.commandLine, "\(pid)").map { $0.text == "yes" } ?? false }
  }
}
