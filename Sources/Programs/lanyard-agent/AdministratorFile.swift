internal import AgentCore
internal import SystemAdapters

/// The administrator's configuration file, as it was read at the start. A bad one is told, and what it said when it was
/// good last counts; none where it never was: an agent that did not start would keep the accounts from every user of the
/// machine.
struct AdministratorFile {
  private static let name = "agent.json"

  let directory: AdministratorDirectory
  let content: AdministratorConfiguration
  /// What was wrong with it at the start, in lines for a person.
  let problems: [String]
  /// The process had no descriptor left to read it with. Then what is enforced is not known.
  let isUnread: Bool
  private let bytes: [UInt8]?
  private let isKept: Bool
  /// Nil if there is none, or it does not count.
  var path: String? { isKept || bytes != nil && problems.isEmpty ? fullPath : nil }
  private var fullPath: String { directory.path + "/" + Self.name }

  /// - Parameter kept: what it said when it was good last.
  init(in directory: AdministratorDirectory, else kept: AdministratorConfiguration? = nil) {
    self.directory = directory
    var (content, problems) = (AdministratorConfiguration(), [String]())
    var (bytes, isUnread): ([UInt8]?, Bool) = (nil, false)
    do throws(AdministratorDirectory.Failure) {
      bytes = try directory.bytes(of: Self.name, atMost: AgentConfiguration.maximumBytes)
    } catch {
      (problems, isUnread) = ([error.text], error.isOfProcess)
    }
    if let bytes {
      do throws(ConfigurationProblems) {
        content = try AdministratorConfiguration(parsing: bytes)
      } catch {
        let path = directory.path + "/" + Self.name
        problems = error.list.map { "\(path):\($0.line):\($0.column): \($0.text)" }
      }
    }
    isKept = !problems.isEmpty && kept != nil
    if let kept, isKept { content = kept }
    (self.content, self.problems, self.bytes, self.isUnread) = (content, problems, bytes, isUnread)
  }

  /// Keeps it for a start at which it can't be used.
  func keep(in copy: KeptConfiguration) { if problems.isEmpty { copy.keep(bytes) } }

  /// What is wrong with it now. What was read at the start counts until the next one.
  var problemsNow: [String] {
    let now = AdministratorFile(in: directory)
    guard now.problems.isEmpty else { return now.problems }
    return now.bytes == bytes
      ? [] : ["\(fullPath) was changed after the agent's start. The change is not in force yet."]
  }
}
