/// The names by which tools look for a helper, as links to `lanyard`.
public enum CredentialHelperName {
  /// The arguments that a call under this name stands for; nil for any other name.
  public static func arguments(of call: [String]) -> [String]? {
    guard let path = call.first else { return nil }
    let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
    return kind(named: name).map { ["lanyard", "credential", $0] + call.dropFirst() }
  }

  private static func kind(named name: String) -> String? {
    switch name {
    case "git-credential-lanyard": "git"
    case "docker-credential-lanyard": "docker"
    case "cargo-credential-lanyard": "cargo"
    case "terraform-credentials-lanyard": "terraform"
    case "bazel-credential-lanyard": "bazel"
    case "keyring": "keyring"
    default: nil
    }
  }
}
