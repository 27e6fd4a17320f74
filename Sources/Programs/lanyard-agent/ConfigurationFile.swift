internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentServing
internal import FileRules
internal import Glibc
internal import HTTPAdapter
internal import Secrets
internal import SystemAdapters

/// The configuration file: found, checked, read at the start.
struct ConfigurationFile {
  let path: String
  private let bytes: [UInt8]
  let content: AgentConfiguration

  /// Why the file can't be used, in lines for a person.
  struct Failure: Error { var lines: [String] }

  /// Nil if there is no file at the usual place. A file that was named must be there.
  static func read(_ options: Options) throws(Failure) -> ConfigurationFile? {
    if let named = options.configurationFile { return try ConfigurationFile(named) }
    guard let usual = options.usualConfigurationFile else { return nil }
    var status = stat()
    if stat(usual, &status) != 0, errno == ENOENT { return nil }
    return try ConfigurationFile(usual)
  }

  private init(_ path: String) throws(Failure) {
    self.path = path
    bytes = try Self.bytes(of: path)
    do throws(ConfigurationProblems) {
      content = try AgentConfiguration(parsing: bytes)
    } catch {
      throw Failure(lines: error.list.map { "\(path):\($0.line):\($0.column): \($0.text)" })
    }
  }

  /// It names authorities that are trusted, so a file that another user could write is refused.
  private static func bytes(of path: String) throws(Failure) -> [UInt8] {
    func failure(_ text: String) -> Failure { Failure(lines: ["\(path): \(text)"]) }
    let most = AgentConfiguration.maximumBytes
    do throws(FileFault) {
      return try FileRule.trustedFile.contents(of: path, followingLinks: true, atMost: most)
    } catch {
      switch error {
      case .system(let error): throw failure("The file can't be read: \(String(cString: strerror(error))).")
      case .link, .otherKind: throw failure("This is not a plain file.")
      case .foreignOwner, .openToOthers:
        throw failure("The file belongs to another user, or others may write to it. `chmod go-w` it.")
      case .tooLarge: throw failure("The file is larger than \(most) bytes.")
      }
    }
  }

  /// What is wrong now with the file that was read at the start.
  fileprivate var problems: [String] {
    do throws(Failure) {
      let now = try ConfigurationFile(path)
      return now.bytes == bytes
        ? [] : ["\(path) was changed after the agent's start. The change is not in force yet."]
    } catch {
      return error.lines
    }
  }
}

extension Options {
  /// Takes what counts of the administrator's file, these options and the person's file.
  mutating func take(_ file: ConfigurationFile?, _ administrator: AdministratorFile) {
    var asked = AgentConfiguration()
    asked.lockAfter = locking.idle
    if locking.onSleep || locking.onScreenLock {
      asked.lockOn = Set((locking.onSleep ? [.sleep] : []) + (locking.onScreenLock ? [.screen] : []))
    }
    let (person, enforced) = (file?.content ?? AgentConfiguration(), administrator.content.enforced)
    let content = AgentConfiguration.inForce(administrator.content, options: asked, file: person)
    locking.idle = content.lockAfter
    locking.onSleep = content.lockOn?.contains(.sleep) == true
    locking.onScreenLock = content.lockOn?.contains(.screen) == true
    limits.connections = content.connections ?? limits.connections
    limits.requestsInFlight = content.requestsInFlight ?? limits.requestsInFlight
    if let caFile = content.caFile { network.authorities = CertificateAuthorities(file: caFile) }
    network.enforcesAuthorities = enforced.caFile != nil
    network.proxy = content.proxy ?? network.proxy
    network.enforcesProxy = enforced.proxy != nil
    overruled = enforced.members(differingFrom: asked.completed(from: person))
    (configuration, self.administrator, inForce) = (file, administrator, content)
  }

  /// For `agent.status` and `agent.diagnose`.
  func startConfiguration(_ confined: Confined, stateDirectory: String) -> StartConfiguration {
    let (file, authorities, broker) = (configuration, network.authorities, confined.broker)
    let laidDown = administrator
    var start = StartConfiguration(
      path: file?.path,
      problems: {
        (file?.problems ?? []) + (broker.isRunning ? [] : [Broker.whatIsGone])
          + [authorities.file].compactMap { $0 }.filter { access($0, R_OK) != 0 }.map {
            "\($0), which names the certificate authorities, can't be read: no server is trusted."
          }
      }, isMemoryLocked: { LockedMemory.isComplete }, residentBytes: ProcessMemory.residentBytes,
      confinement: confined.inForce, clientIDMetadataDocument: inForce.clientIDMetadataDocument, audit: inForce.audit)
    start.stateDirectory = stateDirectory
    start.administratorProblems = { laidDown?.problemsNow ?? [] }
    start.administratorFiles = administrator?.directory
    start.administrator.file = administrator?.path
    start.administrator.enforced = administrator?.content.enforced.memberNames ?? []
    start.administrator.overruled = overruled
    if inForce.signOut == .hard {
      let isPersons = file?.content.signOut == .hard && administrator?.content.enforced.signOut == nil
      start.hardSignOutDemandedBy = isPersons ? file?.path : administrator?.path
    }
    return start
  }
}
