public import JSONRPC

/// The arguments of a tool call, read by the types of its `inputSchema`.
public struct ToolArguments: Sendable {
  public let tool: AgentTool
  private let texts: [String: String]
  private let numbers: [String: Int64]
  private let lists: [String: [String]]
  /// Header fields in the client's order.
  public let headers: [(name: String, value: String)]

  /// Why a call can't be made, in a sentence for the AI agent.
  public struct Problem: Error {
    public let text: String
  }

  /// Nil for a tool that there is none of.
  ///
  /// - Throws: `Problem` for arguments that its schema does not allow.
  public init?(_ params: JSONNode?) throws(Problem) {
    guard let tool = params?["name"]?.string.flatMap(AgentTool.init) else { return nil }
    self.tool = tool
    var texts: [String: String] = [:]
    var numbers: [String: Int64] = [:]
    var lists: [String: [String]] = [:]
    var headers: [(name: String, value: String)] = []
    if let arguments = params?["arguments"], arguments.kind != .null {
      guard arguments.kind == .object else { throw Problem(text: "The arguments are an object.") }
      for (key, value) in arguments.members {
        let name = key.string ?? ""
        guard let kind = Self.kinds[tool]?[name] else {
          throw Problem(text: "The tool \(tool.rawValue) has no argument \(name).")
        }
        switch (kind, value.kind) {
        // A model often fills in what it leaves out.
        case (_, .null): break
        case (.text, .string): texts[name] = value.string
        case (.number(let bounds), .number):
          guard let number = value.integer, bounds.contains(number) else {
            throw Problem(text: "\(name) is \(kind.words).")
          }
          numbers[name] = number
        case (.list, .array):
          let items = value.elements.map(\.string)
          guard !items.contains(nil) else { throw Problem(text: "\(name) is a list of texts.") }
          lists[name] = items.compactMap { $0 }
        case (.fields, .object):
          for (field, text) in value.members {
            guard let text = text.string else { throw Problem(text: "A header field's value is a text.") }
            headers.append((field.string ?? "", text))
          }
        default: throw Problem(text: "\(name) is \(kind.words).")
        }
      }
    }
    for name in Self.required[tool] ?? [] where texts[name] == nil && lists[name] == nil {
      throw Problem(text: "The argument \(name) is missing.")
    }
    if texts["body"] != nil, texts["bodyBase64"] != nil { throw Problem(text: "Give body or bodyBase64, not both.") }
    (self.texts, self.numbers, self.lists, self.headers) = (texts, numbers, lists, headers)
  }

  public func text(_ name: String) -> String? { texts[name] }
  public func number(_ name: String) -> Int64? { numbers[name] }
  public func list(_ name: String) -> [String] { lists[name] ?? [] }

  private enum Kind {
    case text, list, fields
    case number(ClosedRange<Int64>)

    var words: String {
      switch self {
      case .text: "a text"
      case .number(let bounds): "a whole number from \(bounds.lowerBound) to \(bounds.upperBound)"
      case .list: "a list of texts"
      case .fields: "an object of texts"
      }
    }
  }

  /// As the schemas have them; `AgentServerTests` compares.
  private static let kinds: [AgentTool: [String: Kind]] = [
    .accounts: [:],
    .can: ["capability": .text, "account": .text],
    .request: [
      "url": .text, "method": .text, "headers": .fields, "body": .text, "bodyBase64": .text, "idempotencyKey": .text,
      "account": .text, "timeoutSeconds": .number(1...3600),
    ],
    .askAccess: [
      "origins": .list, "methods": .list, "capabilities": .list, "reason": .text, "waitSeconds": .number(0...300),
    ],
    .operations: ["account": .text, "status": .text],
  ]
  private static let required: [AgentTool: [String]] = [
    .can: ["capability"], .request: ["url"], .askAccess: ["origins", "reason"],
  ]
}
