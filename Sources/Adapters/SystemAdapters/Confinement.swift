public import AgentPorts
internal import CConfinement
internal import Glibc

/// What this process may do with files once it is confined; everything else is refused.
public struct FileAccess: Hashable, Sendable {
  /// Files, and directories with all beneath them. A path that does not exist grants nothing.
  public var readable: [String]
  /// Files that are also written.
  public var devices: [String]
  /// The agent's own directories: files are made, written and removed there.
  public var owned: [String]
  /// It connects to servers by TCP, or takes ports.
  public var usesNetwork: Bool

  public init(
    readable: [String] = [], devices: [String] = [], owned: [String] = [], usesNetwork: Bool = true
  ) {
    self.readable = readable
    self.devices = devices
    self.owned = owned
    self.usesNetwork = usesNetwork
  }

  /// What the agent reads on every system: libraries that are opened late, authorities, names of hosts, `/proc`.
  public static let system = FileAccess(
    readable: [
      "/usr", "/lib", "/lib32", "/lib64", "/etc", "/proc", "/sys/devices/system/cpu",
      // Where links of /etc lead: names of hosts, authorities.
      "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/connman", "/run/netconfig",
      "/run/current-system", "/run/nscd", "/var/lib/ca-certificates", "/var/lib/sss", "/nix/store", "/gnu/store",
    ],
    devices: ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"])

  public func union(_ other: FileAccess) -> FileAccess {
    FileAccess(
      readable: readable + other.readable, devices: devices + other.devices, owned: owned + other.owned,
      usesNetwork: usesNetwork || other.usesNetwork)
  }
}

/// The rules for one version of Landlock.
package struct FileRules: Equatable {
  package struct Rule: Hashable {
    package let path: String
    package let rights: UInt64
  }

  /// The rights that are refused unless a rule grants them.
  package let handled: UInt64
  package let scoped: UInt64
  /// The rights to TCP that are refused.
  package let network: UInt64
  package let rules: [Rule]

  private static let reading = rights([LANYARD_FILE_READ, LANYARD_FILE_LIST])
  private static let writing = rights([LANYARD_FILE_WRITE, LANYARD_FILE_TRUNCATE])
  private static let owning = rights([
    LANYARD_FILE_REMOVE, LANYARD_FILE_REMOVE_DIRECTORY, LANYARD_FILE_MAKE, LANYARD_FILE_MAKE_DIRECTORY,
    LANYARD_FILE_MAKE_SOCKET, LANYARD_FILE_REFER,
  ])
  private static let never = rights([
    LANYARD_FILE_EXECUTE, LANYARD_FILE_MAKE_CHARACTER_DEVICE, LANYARD_FILE_MAKE_BLOCK_DEVICE, LANYARD_FILE_MAKE_FIFO,
    LANYARD_FILE_MAKE_SYMLINK, LANYARD_FILE_DEVICE_CONTROL,
  ])

  private static func rights(_ list: [some BinaryInteger]) -> UInt64 { list.reduce(0) { $0 | UInt64($1) } }

  /// Nil without Landlock.
  package init?(_ access: FileAccess, version: Int32) {
    guard version >= 1 else { return nil }
    var known = Self.reading | Self.writing | Self.owning | Self.never
    // landlock(7), Features: renaming between directories from 2 on, truncating from 3 on, TCP from 4 on, devices from 5 on,
    // signals from 6 on.
    if version < 2 { known &= ~UInt64(LANYARD_FILE_REFER) }
    if version < 3 { known &= ~UInt64(LANYARD_FILE_TRUNCATE) }
    if version < 5 { known &= ~UInt64(LANYARD_FILE_DEVICE_CONTROL) }
    handled = known
    network = version < 4 || access.usesNetwork ? 0 : Self.rights([LANYARD_TCP_BIND, LANYARD_TCP_CONNECT])
    scoped = version < 6 ? 0 : UInt64(LANYARD_SCOPE_SIGNAL)
    let granted =
      access.readable.map { ($0, Self.reading) } + access.devices.map { ($0, Self.reading | Self.writing) }
      + access.owned.map { ($0, Self.reading | Self.writing | Self.owning) }
    rules = granted.map { Rule(path: $0.0, rights: $0.1 & known) }
  }
}

/// Confines this process, for good.
public enum ProcessConfinement {
  public struct Result: Sendable {
    public var inForce: Confinement
    /// What is not in force, in sentences for a person.
    public var missing: [String] = []
  }

  /// Takes rights away from this process. Call it before the first thread. What the kernel does not offer is left out
  /// and told.
  public static func apply(_ access: FileAccess) -> Result {
    apply(access, version: lanyard_landlock_version())
  }

  static func apply(_ access: FileAccess, version: Int32) -> Result {
    var missing: [String] = []
    var restrictsFiles = false
    if let rules = FileRules(access, version: version) {
      let failure = restrict(rules)
      restrictsFiles = failure == 0
      if failure != 0 {
        missing.append("the kernel refused Landlock (\(String(cString: strerror(failure)))): files are not restricted.")
      }
    } else {
      missing.append("this kernel has no Landlock, or it is switched off: files are not restricted.")
    }
    let filter = lanyard_filter_install()
    if filter != 0 {
      missing.append(
        "the kernel refused a filter of system calls (\(String(cString: strerror(-filter)))): they are not restricted.")
    }
    let inForce: Confinement = filter != 0 ? .none : restrictsFiles ? .landlock : .seccomp
    return Result(inForce: inForce, missing: missing)
  }

  /// 0 or an errno.
  private static func restrict(_ rules: FileRules) -> Int32 {
    let paths = rules.rules.map { strdup($0.path) }
    defer { for path in paths { free(path) } }
    let list = zip(paths, rules.rules).map { lanyard_file_rule(path: $0.0, rights: $0.1.rights) }
    return -list.withUnsafeBufferPointer {
      lanyard_landlock_restrict(rules.handled, rules.network, rules.scoped, $0.baseAddress, $0.count)
    }
  }
}
