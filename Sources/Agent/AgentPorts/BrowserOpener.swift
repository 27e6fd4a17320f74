/// Opens a page in the person's browser.
public protocol BrowserOpener: Sendable {
  /// Starts the browser and returns at once; success can't be observed. Call it only for a request that asked for a
  /// browser.
  func open(_ url: String)
}

/// A platform without a browser: the caller shows the URL.
public struct NoBrowser: BrowserOpener {
  public init() {}
  public func open(_ url: String) {}
}
