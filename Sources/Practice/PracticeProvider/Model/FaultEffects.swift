import LoopbackHTTP

/// What a fault makes of a request's reply.
extension Fault {
  /// The reply of a fault for which the request is not processed.
  var replyBeforeProcessing: HTTPReply? {
    let delay = delayMilliseconds
    switch effect {
    case .answer(let response): return .respond(response, delayMilliseconds: delay)
    case .notJSON: return .respond(.html(Self.captivePortalPage), delayMilliseconds: delay)
    case .dropBeforeProcessing: return .drop(delayMilliseconds: delay)
    case .hangBeforeProcessing: return .hang
    case .endlessBody:
      return .endlessBody(HTTPResponse(status: 200, headers: [("Content-Type", "application/json")]))
    case .answerAfterProcessing, .dropAfterProcessing, .hangAfterProcessing, .hugeBody, .truncatedBody, .none,
      .changeAnswer, .changeIDToken:
      return nil
    }
  }

  /// Applies the fault to the normal response.
  func distort(_ response: HTTPResponse) -> HTTPReply {
    var changed = response
    switch effect {
    case .answerAfterProcessing(let other): changed = other
    case .dropAfterProcessing: return .drop(delayMilliseconds: delayMilliseconds)
    case .hangAfterProcessing: return .hang
    case .hugeBody(let bytes): changed.body += [UInt8](repeating: 0x20, count: max(0, bytes))
    case .truncatedBody(let bytes): return .truncate(response, bodyBytes: bytes)
    case .changeAnswer(let changes):
      if let json = response.json, case .object = json { changed.body = Array(json.changed(by: changes).text.utf8) }
    default: break
    }
    return .respond(changed, delayMilliseconds: delayMilliseconds)
  }

  private static let captivePortalPage =
    "<!doctype html><title>Guest network</title><h1>Welcome</h1><p>Accept the terms to use this network.</p>\n"
}
