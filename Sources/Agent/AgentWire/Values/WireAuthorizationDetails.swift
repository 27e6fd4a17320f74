package import AgentCore
internal import AgentProtocol
package import AgentStore
package import JSONRPC

/// `authorizationDetails` of params and results (RFC 9396).
extension AuthorizationDetails {
  /// Reads a client's objects; nil for an empty list.
  package static func requested(_ objects: [RawJSON]) throws(AgentFailure) -> AuthorizationDetails? {
    let array = RawJSON { writer in
      writer.beginArray()
      for object in objects { object.write(to: &writer) }
      writer.endArray()
    }
    let text = array.withBytes { String(decoding: $0, as: UTF8.self) }
    do throws(Problem) {
      let details = try AuthorizationDetails(parsing: text, atMost: mostRequestedBytes)
      return details.isEmpty ? nil : details
    } catch {
      throw .invalidParameter(error.path, expected: error.expected)
    }
  }

  /// The objects, as the wire has them.
  package var objects: [RawJSON] {
    var objects: [RawJSON] = []
    forEachObject { objects.append(RawJSON($0)) }
    return objects
  }
}

extension AuthorizationDetails.Problem {
  fileprivate var path: String {
    if case .withoutType(let index) = self { "/authorizationDetails/\(index)/type" } else { "/authorizationDetails" }
  }

  fileprivate var expected: String {
    switch self {
    case .malformed: "array of objects"
    case .withoutType: "string of 1 to \(AuthorizationDetails.longestType) bytes"
    case .tooMany: "at most \(AuthorizationDetails.mostObjects) objects"
    case .tooDeep: "objects with at most \(AuthorizationDetails.deepestNesting - 1) levels"
    case .tooLong: "at most \(AuthorizationDetails.mostRequestedBytes) bytes of JSON"
    }
  }
}
