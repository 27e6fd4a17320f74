import AgentCore
import CommandSupport

/// The page of a service on which a person makes a key. It is shown where the key is asked for.
struct KeyPage {
  private let address: String
  private let isOpened: Bool
  private let browser: String?

  /// Nil where no page is known.
  ///
  /// - Parameters:
  ///   - isOpened: opens it in the browser as well, where there is one.
  ///   - browser: the command that was named.
  init?(of provider: ProviderInfo, isOpened: Bool, browser: String? = nil) {
    guard let address = provider.catalogue?.page else { return nil }
    (self.address, self.isOpened, self.browser) = (address, isOpened, browser)
  }

  func show() {
    // The address is public, so that other users may read it.
    let isOpening = isOpened && Browser.open(address, with: browser)
    Output.instruction(
      isOpening
        ? "Make a key on this page, which your browser was asked to open:" : "Make a key on this page in a browser:")
    Output.instruction("\n  \(Text.shown(address))\n")
  }
}
