internal import JSONRPC

/// What a tool answers.
public struct ToolResult: Sendable {
  /// A piece of the answer.
  public enum Content: Sendable {
    case text(String)
    /// Bytes that are no text, in Base64.
    case bytes(base64: String, mediaType: String, url: String)
  }

  public var content: [Content]
  /// The AI agent has to do something else.
  public var isError = false

  public init(_ content: [Content], isError: Bool = false) {
    self.content = content
    self.isError = isError
  }

  public init(_ text: String, isError: Bool = false) { self.init([.text(text)], isError: isError) }

  func write(to writer: inout JSONWriter) {
    writer.key("content")
    writer.beginArray()
    for piece in content { piece.write(to: &writer) }
    writer.endArray()
    writer.key("isError")
    writer.bool(isError)
  }
}

extension ToolResult.Content {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.beginObject()
    switch self {
    case .text(let text):
      writer.member("type", "text")
      writer.member("text", text)
    case .bytes(let data, let mediaType, let url):
      // 2025-11-25, Tool Result: images and sounds have kinds of their own.
      let kind = ["image/", "audio/"].first { mediaType.hasPrefix($0) }.map { String($0.dropLast()) }
      guard let kind else {
        writer.member("type", "resource")
        writer.key("resource")
        writer.beginObject()
        writer.member("uri", url)
        writer.member("mimeType", mediaType)
        writer.member("blob", data)
        writer.endObject()
        break
      }
      writer.member("type", kind)
      writer.member("data", data)
      writer.member("mimeType", mediaType)
    }
    writer.endObject()
  }
}
