/// Where an organisation's provider or policy comes from (docs/administrator.md). Files come before bundles: who may write a
/// file of root's decides on this machine.
package enum ManagedSource: Hashable, Comparable, Sendable {
  /// A file of the administrator's directory, by its path.
  case file(String)
  /// A signed bundle, by the URL from which it is fetched.
  case bundle(String)

  /// The path or the URL.
  package var text: String {
    switch self {
    case .file(let path): path
    case .bundle(let url): url
    }
  }
}
