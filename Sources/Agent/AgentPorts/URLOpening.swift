/// Shows a page to the person at this machine.
public protocol URLOpening: Sendable {
  /// Returns at once; whether a browser came up can't be known. Only ever called because somebody asked for it.
  func open(_ url: String)
}

/// A machine without a browser: the caller shows the URL.
public struct NoBrowser: URLOpening {
  public init() {}
  public func open(_ url: String) {}
}
