internal import AgentCore
internal import SystemAdapters

/// The administrator's configuration file, as it was read at the start. A bad one is told, and counts as none: an agent
/// that did not start would keep the accounts from every user of the machine.
struct AdministratorFile {
  private static let name = "agent.json"

  let directory: AdministratorDirectory
  let content: AdministratorConfiguration
  /// What was wrong with it at the start, in lines for a person.
  let problems: [String]
  private let bytes: [UInt8]?
  /// Nil if there is none, or it does not count.
  var path: String? { bytes == nil || !problems.isEmpty ? nil : fullPath }
  private var fullPath: String { directory.path + "/" + Self.name }

  init(in directory: AdministratorDirectory) {
    self.directory = directory
    var (content, problems) = (AdministratorConfiguration(), [String]())
    var bytes: [UInt8]?
    do throws(AdministratorDirectory.Failure) {
      bytes = try directory.bytes(of: Self.name, atMost: AgentConfiguration.maximumBytes)
    } catch {
      problems = [error.text]
    }
    if let bytes {
      do throws(ConfigurationProblems) {
        content = try AdministratorConfiguration(parsing: bytes)
      } catch {
        let path = directory.path + "/" + Self.name
        problems = error.list.map { "\(path):\($0.line):\($0.column): \($0.text)" }
      }
    }
    (self.content, self.problems, self.bytes) = (content, problems, bytes)
  }

  /// What is wrong with it now. What was read at the start counts until the next one.
  var problemsNow: [String] {
    let now = AdministratorFile(in: directory)
    guard now.problems.isEmpty else { return now.problems }
    return now.bytes == bytes
      ? [] : ["\(fullPath) was changed after the agent's start. What it says now does not hold yet."]
  }
}
