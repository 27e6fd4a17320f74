import JSONRPC
import MCPBridge
import Testing

/// Values and annotations that become header fields.
@Suite struct HeaderTests {
  @Test(
    "a value that a header field can't hold is encoded",
    arguments: [
      ("us-west1", "us-west1"), ("", ""), ("us west 1", "us west 1"), ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
      (" padded ", "=?base64?IHBhZGRlZCA=?="), ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
      ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="), ("\tx", "=?base64?CXg=?="),
      ("=?base64?x", "=?base64?x"),
    ])
  func values(value: String, encoded: String) { #expect(HeaderValue.encode(value) == encoded) }

  /// The fields of a call of the one tool with this `inputSchema`; nil if the list has lost the tool.
  private func fields(schema: String, arguments: String) -> [String]? {
    var (catalogue, tape) = (ToolCatalogue(), JSONTape())
    let list = #"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":\#(schema)}]}}"#
    let reading = Array(list.utf8).withUnsafeBytes { catalogue.take($0, isFirstPage: true, &tape) }
    if let replaced = reading.replaced {
      #expect(String(decoding: replaced, as: UTF8.self).contains(#""tools":[]"#) && reading.warnings.count == 1)
      return nil
    }
    let call = #"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":\#(arguments)}}"#
    let fields = Array(call.utf8).withUnsafeBytes { catalogue.fields(of: $0, tool: "t", &tape) }
    return fields.map { "\($0.name): \($0.value)" }
  }

  @Test func annotatedArguments_becomeFields() {
    let schema = """
      {"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"integer","x-mcp-header":"B"},
      "c":{"type":["boolean","null"],"x-mcp-header":"C"},"d":{"type":"object","properties":{"e":{"type":"string",
      "x-mcp-header":"E"}}},"x-mcp-header":{"type":"string","default":{"x-mcp-header":"no annotation"}}}}
      """
    let all = #"{"a":"\u00fc","b":42.0,"c":false,"d":{"e":"x"}}"#
    #expect(
      fields(schema: schema, arguments: all) == [
        "Mcp-Param-A: =?base64?w7w=?=", "Mcp-Param-B: 42", "Mcp-Param-C: false", "Mcp-Param-E: x",
      ])
    #expect(fields(schema: schema, arguments: #"{"a":null,"d":7,"c":[]}"#) == [])
    #expect(fields(schema: schema, arguments: "{}") == [])
  }

  @Test(
    "a tool with an invalid annotation is taken out of the list",
    arguments: [
      #"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#,
      #"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#,
      #"{"properties":{"a":{"type":"string","x-mcp-header":"ü"}}}"#,
      #"{"properties":{"a":{"type":"string","x-mcp-header":7}}}"#,
      #"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
      #"{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}"#,
      #"{"properties":{"a":{"type":["string","integer"],"x-mcp-header":"A"}}}"#,
      #"{"properties":{"a":{"x-mcp-header":"A"}}}"#,
      #"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
      #"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#,
      #"{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}"#,
      #"{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#,
      #"{"type":"string","x-mcp-header":"A"}"#,
    ])
  func invalidAnnotations(schema: String) { #expect(fields(schema: schema, arguments: "{}") == nil) }

  @Test func listWithOneInvalidTool_keepsTheBytesOfTheOthers() {
    var (catalogue, tape) = (ToolCatalogue(), JSONTape())
    let invalid = #"{"name":"b","inputSchema":{"x-mcp-header":"A"}}"#
    let list = #"{"id":1, "result":{"tools" : [ {"name":"a", "n":1e0},\#(invalid) ], "k":"\u0061"}}"#
    let reading = Array(list.utf8).withUnsafeBytes { catalogue.take($0, isFirstPage: true, &tape) }
    #expect(
      String(decoding: reading.replaced ?? [], as: UTF8.self)
        == #"{"id":1, "result":{"tools" : [{"name":"a", "n":1e0}], "k":"\u0061"}}"#)
  }
}
