package import AgentCore
package import JSONRPC

extension Decision.Failure {
  /// The facts as an object, in the order of their names: the same in a kept decision and in an answer.
  package func writeFacts(to writer: inout JSONWriter) {
    writer.beginObject()
    for (name, fact) in facts.sorted(by: { $0.key < $1.key }) {
      writer.key(name)
      switch fact {
      case .seconds(let seconds): writer.integer(seconds)
      case .word(let word): writer.string(word)
      case .words(let words):
        writer.beginArray()
        for word in words { writer.string(word) }
        writer.endArray()
      }
    }
    writer.endObject()
  }
}
