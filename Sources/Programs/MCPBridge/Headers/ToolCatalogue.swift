public import JSONRPC

/// The tools of the server that were listed, as far as header fields depend on them.
public struct ToolCatalogue: Sendable {
  private var tools: [String: ToolHeaders] = [:]
  /// More tools than a model can choose from. The headers of further ones are not remembered.
  static let maximumTools = 4_096

  public init() {}

  /// What a list of tools means for the client.
  public struct Reading: Sendable {
    /// The response without the tools that are taken out; nil if it goes on unchanged.
    public var replaced: [UInt8]?
    /// For stderr.
    public var warnings: [String] = []
  }

  /// Reads a response to `tools/list`. The specification demands that a tool with an invalid annotation is taken out.
  public mutating func take(
    _ response: UnsafeRawBufferPointer, isFirstPage: Bool, _ tape: inout JSONTape
  ) -> Reading {
    guard (try? JSONScanner.scan(response, onto: &tape, duplicateKeys: .allowed)) != nil else { return Reading() }
    return tape.withRoot(of: response) { root in
      guard let list = root["result"]?["tools"], list.kind == .array else { return Reading() }
      if isFirstPage { tools = [:] }
      var reading = Reading()
      var kept: [UnsafeRawBufferPointer] = []
      for tool in list.elements {
        do throws(ToolHeaders.Violation) {
          let headers = try ToolHeaders(tool["inputSchema"])
          kept.append(tool.raw)
          guard let name = tool["name"]?.string else { continue }
          // A name that is repeated has the headers of the last one.
          if tools.count < Self.maximumTools || tools[name] != nil { tools[name] = headers }
        } catch {
          let name = tool["name"]?.string ?? "without a name"
          reading.warnings.append("The tool \(name) has \(error.rawValue), so it was left out of the list.")
        }
      }
      if !reading.warnings.isEmpty { reading.replaced = Self.replacing(list.raw, by: kept, in: response) }
      return reading
    }
  }

  private static func replacing(
    _ list: UnsafeRawBufferPointer, by tools: [UnsafeRawBufferPointer], in response: UnsafeRawBufferPointer
  ) -> [UInt8] {
    let start = list.baseAddress! - response.baseAddress!
    var bytes = [UInt8](response[..<start])
    bytes.append(UInt8(ascii: "["))
    for (index, tool) in tools.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes += tool
    }
    bytes.append(UInt8(ascii: "]"))
    bytes += response[(start + list.count)...]
    return bytes
  }

  /// The `Mcp-Param-…` fields of a call, which is a scanned `tools/call`.
  public func fields(
    of call: UnsafeRawBufferPointer, tool: String, _ tape: inout JSONTape
  ) -> [(name: String, value: String)] {
    guard let headers = tools[tool], !headers.entries.isEmpty,
      (try? JSONScanner.scan(call, onto: &tape)) != nil
    else { return [] }
    return tape.withRoot(of: call) { headers.fields(for: $0["params"]?["arguments"]) }
  }
}
