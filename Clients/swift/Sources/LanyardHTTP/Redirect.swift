internal import Foundation

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// Follows redirects (RFC 9110 §15.4).
enum Redirect {
  /// The request that the answer asks for; nil if it asks for none, or one that can't be sent.
  static func request(after request: URLRequest, _ response: HTTPURLResponse) -> URLRequest? {
    guard [301, 302, 303, 307, 308].contains(response.statusCode),
      let location = response.value(forHTTPHeaderField: "Location"),
      let url = URL(string: location, relativeTo: request.url)?.absoluteURL, Origin(url) != nil
    else { return nil }
    var next = request
    next.url = url
    let method = request.httpMethod ?? "GET"
    switch response.statusCode {
    case 307, 308:
      // A stream can't be read again.
      if request.httpBodyStream != nil { return nil }
    case 303 where method != "HEAD", 301 where method == "POST", 302 where method == "POST":
      next.httpMethod = "GET"
      next.httpBody = nil
      for name in ["Content-Length", "Content-Type", "Transfer-Encoding"] {
        next.setValue(nil, forHTTPHeaderField: name)
      }
    default: break
    }
    return next
  }

  /// The request without what identifies the person.
  static func bare(_ request: URLRequest) -> URLRequest {
    var bare = request
    for name in ["Authorization", "Cookie", "DPoP", "Proxy-Authorization"] {
      bare.setValue(nil, forHTTPHeaderField: name)
    }
    return bare
  }
}
