import CommandSupport
import Glibc
import JSONRPC

/// The proxy of one command: `lanyard-proxy` as a child, which ends with this process.
struct CommandProxy: ~Copyable {
  /// Where it listens: 127.0.0.1 and the port.
  let address: String
  /// The URL with the secret, for `https_proxy`.
  let url: String
  /// The file with the certificate of the authority; nil if no origin is `https`.
  let certificate: String?
  /// By variable: what the command gets in place of a secret.
  let placeholders: [String: String]
  private let process: pid_t
  /// The proxy ends when this is closed, also because this process was killed.
  private let lifeline: Int32

  /// Starts the proxy, and waits until it listens, or until it waits for the socket that comes through `sandbox`.
  ///
  /// - Throws: after the proxy has told on stderr why it did not start.
  init(_ words: [String], sandbox: Int32? = nil) throws(CommandFailure) {
    let program = try Self.program()
    var (life, answer): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
    guard pipe(&life) == 0, pipe(&answer) == 0 else {
      throw Self.failure("no pipe could be made: \(SystemError.message(errno))")
    }
    for end in life + answer { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, answer[1], STDOUT_FILENO)
    // Above the numbers that the proxy gets.
    let copy = sandbox.map { fcntl($0, F_DUPFD_CLOEXEC, Self.firstCopy) }
    defer { if let copy { close(copy) } }
    posix_spawn_file_actions_adddup2(&actions, life[0], Self.lifelineOfProxy)
    if let copy { posix_spawn_file_actions_adddup2(&actions, copy, Self.sandboxOfProxy) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Not in the terminal's group of the command: Ctrl-C is for the command, which may still want to send something.
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    var process = pid_t()
    let given = sandbox == nil ? [] : ["--sandbox", String(Self.sandboxOfProxy)]
    let all = [program, "--parent", String(Self.lifelineOfProxy)] + given + words
    let error = CStrings.with(all) { arguments in
      posix_spawn(&process, program, &actions, &attributes, arguments, environ)
    }
    close(life[0])
    close(answer[1])
    defer { close(answer[0]) }
    guard error == 0 else {
      close(life[1])
      throw Self.failure("\(program) can't be run: \(SystemError.message(error))")
    }
    do throws(CommandFailure) {
      let told = try Self.read(answer[0])
      (address, url, certificate, placeholders) = (told.address, told.url, told.certificate, told.placeholders)
    } catch {
      close(life[1])
      throw Self.ended(process)
    }
    self.process = process
    lifeline = life[1]
  }

  private static let lifelineOfProxy: Int32 = 3
  private static let sandboxOfProxy: Int32 = 4
  private static let firstCopy: Int32 = 16

  static func program() throws(CommandFailure) -> String {
    if let program = AgentPaths.companion("lanyard-proxy") { return program }
    throw CommandFailure(
      .other, name: "system", "The program lanyard-proxy is missing beside this program. Install it again.")
  }

  private struct Announced {
    let address: String
    let url: String
    let certificate: String?
    let placeholders: [String: String]

    init?(_ node: JSONNode) {
      guard let url = node["url"]?.string else { return nil }
      self.url = url
      address = node["address"]?.string ?? ""
      certificate = node["certificate"]?.string
      var placeholders: [String: String] = [:]
      if let told = node["placeholders"] {
        for (name, value) in told.members { placeholders[name.string ?? ""] = value.string }
      }
      self.placeholders = placeholders
    }
  }

  private static func read(_ descriptor: Int32) throws(CommandFailure) -> Announced {
    var lines = LineReader()
    var found: Announced?
    while true {
      let isLine: Void? = lines.next { line in
        var tape = JSONTape()
        guard (try? JSONScanner.scan(line, onto: &tape)) != nil else { return }
        found = tape.withRoot(of: line) { Announced($0) }
      }
      if let found { return found }
      guard isLine == nil else { throw .notUnderstood }
      switch lines.fill(from: descriptor) {
      case .bytes, .wouldBlock: continue
      case .endOfFile, .failed, .tooLong: throw .notUnderstood
      }
    }
  }

  /// Why there is no proxy. One that ended by itself has told the person, so that this process ends as it did.
  private static func ended(_ process: pid_t) -> CommandFailure {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    if status & 0x7F == 0, status != 0 { Glibc.exit((status >> 8) & 0xFF) }
    return failure("it ended before it listened")
  }

  private static func failure(_ reason: String) -> CommandFailure {
    CommandFailure(.other, name: "system", "The proxy could not be started: \(reason). The command was not run.")
  }

  /// Ends the proxy, and waits until its files are gone.
  consuming func end() {
    close(lifeline)
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
  }
}

extension ChildEnvironment {
  /// What has a program send everything through the proxy, and trust the authority of its run (docs/proxy.md, In the
  /// environment).
  ///
  /// - Parameter place: where the command sees the file of the authority, if that is another path than here.
  mutating func set(_ proxy: borrowing CommandProxy, certificateAt place: String? = nil) {
    for name in Self.proxyNames { set(name, to: proxy.url) }
    // Node.js from 24 on reads the variables above only with this.
    set(Self.nodeSwitch, to: "1")
    if let certificate = proxy.certificate.map({ place ?? $0 }) {
      for name in Self.certificateNames { set(name, to: certificate) }
    }
    // A directory beside the file would be trusted as well. Hosts that need no proxy would be reached without a token.
    for name in ["no_proxy", "NO_PROXY", "SSL_CERT_DIR"] { leaveOut(name) }
    leaveOutAll { name in name.hasPrefix("LANYARD_") && !Self.kept.contains(name) }
  }

  /// What has libraries start that want a secret (docs/proxy.md, Placeholders). A variable that was set has its value.
  ///
  /// - Parameter given: variables that the person gives the command by name.
  mutating func setPlaceholders(of proxy: borrowing CommandProxy, but given: [String] = []) {
    for (name, value) in proxy.placeholders.sorted(by: { $0.key < $1.key }) where !given.contains(name) {
      set(name, to: value)
    }
  }

  static let proxyNames = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
  static let nodeSwitch = "NODE_USE_ENV_PROXY"
  /// The variables in which programs look for authorities: the usual ones, and of the others those that are set here, since a
  /// program prefers them to the usual ones.
  static var certificateNames: [String] {
    [
      "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT",
    ] + otherCertificateNames.filter { Environment.value($0) != nil }
  }

  private static let otherCertificateNames = [
    "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "DENO_CERT",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "HTTPLIB2_CA_CERTS", "NIX_SSL_CERT_FILE", "NPM_CONFIG_CAFILE",
    "PERL_LWP_SSL_CA_FILE",
    "npm_config_cafile",
  ]

  /// Of the variables of this project: no tokens. Without the grant that limits this process the command could do more than
  /// it.
  private static let kept: Set<String> = [
    "LANYARD_ACCOUNT", "LANYARD_GRANT_FILE", "LANYARD_NO_START", "LANYARD_SOCKET", "LANYARD_STATE_DIR",
  ]
}
