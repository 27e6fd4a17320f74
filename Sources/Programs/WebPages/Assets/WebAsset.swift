/// What pages load besides: `/style.css`, `/live.js`, `/icon.svg`.
package enum WebAsset {
  /// The file at an address; nil if there is none. `type` is the value of `Content-Type`.
  package static func named(_ path: String) -> (type: String, bytes: [UInt8])? {
    switch path {
    case "/style.css": ("text/css; charset=utf-8", Array(StyleSheet.text.utf8))
    case "/live.js": ("text/javascript; charset=utf-8", Array(LiveScript.text.utf8))
    case "/icon.svg": ("image/svg+xml", Array(icon.utf8))
    default: nil
    }
  }

  /// The badge of a lanyard, as on the pages.
  private static let icon = """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 36 44"><rect width="36" height="44" rx="8" fill="#14606e"/>\
    <rect x="12" y="6" width="12" height="4" rx="2" fill="#fff"/><circle cx="18" cy="26" r="8" fill="#fff"/></svg>
    """
}
