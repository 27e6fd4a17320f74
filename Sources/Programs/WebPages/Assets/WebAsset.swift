/// What pages load besides: `/style.css`, `/live.js`, `/icon.svg`.
package enum WebAsset {
  /// The file at an address; nil if there is none. `type` is the value of `Content-Type`.
  package static func named(_ path: String) -> (type: String, bytes: [UInt8])? { nil }
}
