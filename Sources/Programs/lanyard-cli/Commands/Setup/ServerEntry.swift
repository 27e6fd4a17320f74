import ArgumentParser
import CommandSupport

/// For whom an entry is written (docs/mcp.md, Setting it up).
enum SetupScope: String, CaseIterable, ExpressibleByArgument {
  /// The person, in every project.
  case user
  /// The project in the current directory, and all who work on it.
  case project
}

extension SetupTool {
  /// True for programs that start MCP servers, as AI agents do.
  var startsServers: Bool {
    switch self {
    case .claude, .codex, .cursor, .gemini, .vscode: true
    default: false
    }
  }

  /// The entry by which the tool starts `lanyard mcp URL`.
  func serverEntry(_ target: SetupTarget) throws(CommandFailure) -> any SetupChange {
    let place = try serverFile(project: target.project)
    // An entry of a project works on other machines, too. An entry of the person has the path: a program of the desktop
    // seldom has ~/.local/bin in PATH, and a PATH that a project changes must not choose another program.
    let command = target.project == nil ? Self.lanyardPath : "lanyard"
    let server = target.skill.map { ["--self"] + ($0.grant.map { ["--grant", $0] } ?? []) } ?? [target.url ?? ""]
    let arguments = ["mcp"] + server + (target.account.map { ["--account", $0] } ?? [])
    let name = target.name ?? ""
    if self == .codex {
      return TOMLTable(
        place: place, name: "\(rawValue) \(name)", table: ["mcp_servers", name],
        content: [
          "command = \(JSONValue.quoted(command))", "args = \(JSONValue.texts(arguments).laidOut(JSONLayout()))",
          "env_vars = \(JSONValue.texts(Self.neededVariables).laidOut(JSONLayout()))",
        ])
    }
    var members: [(name: String, value: JSONValue)] = [("command", .text(command)), ("args", .texts(arguments))]
    // Gemini CLI knows the kind from the other members.
    if self != .gemini { members.insert(("type", .text("stdio")), at: 0) }
    return JSONEntry(
      place: place, path: [self == .vscode ? "servers" : "mcpServers", name], value: .object(members),
      allowsComments: self != .claude)
  }

  /// What tells the AI agent how to ask, and with a grant the tools to do so.
  func skill(_ target: SetupTarget) throws(CommandFailure) -> [any SetupChange] {
    let folder: String
    if let project = target.project {
      folder = try SetupPlaces.inside(project, ".claude")
    } else {
      folder = try SetupPlaces.named("CLAUDE_CONFIG_DIR", else: ".claude")
    }
    let text = SkillFile(place: "\(folder)/skills/\(AgentSkill.name)/SKILL.md")
    return target.skill?.grant == nil ? [text] : [text, try serverEntry(target)]
  }

  /// Codex starts a server with few variables of its own environment. These lead to the agent, and the agent that is
  /// started for the first request gets the desktop session from them.
  private static let neededVariables = [
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "LANYARD_GRANT_FILE", "LANYARD_SOCKET", "LANYARD_STATE_DIR",
    "WAYLAND_DISPLAY",
    "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
  ]

  private func serverFile(project: String?) throws(CommandFailure) -> String {
    if let project { return try SetupPlaces.inside(project, projectFile) }
    switch self {
    case .claude:
      if let directory = Environment.value("CLAUDE_CONFIG_DIR") { return "\(directory)/.claude.json" }
      return try SetupPlaces.home(".claude.json")
    case .codex: return try SetupPlaces.named("CODEX_HOME", else: ".codex") + "/config.toml"
    case .gemini: return try SetupPlaces.named("GEMINI_CLI_HOME", else: "").trimmedSlash + "/.gemini/settings.json"
    case .vscode: return try SetupPlaces.configuration("Code/User/mcp.json")
    default: return try SetupPlaces.home(".\(rawValue)/mcp.json")
    }
  }

  private var projectFile: String {
    switch self {
    case .claude: ".mcp.json"
    case .codex: ".codex/config.toml"
    case .gemini: ".gemini/settings.json"
    default: ".\(rawValue)/mcp.json"
    }
  }
}

extension String {
  fileprivate var trimmedSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}
