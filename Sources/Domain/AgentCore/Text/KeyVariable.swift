/// The names of variables in which programs may get a key (`environment` of a provider). The key's text is whatever its
/// service or a caller says: in a variable that loaders, shells, interpreters or TLS obey, it would choose what runs.
public enum KeyVariable {
  /// False for a name that programs obey. Some compare names without regard to case.
  public static func mayHoldKey(_ name: String) -> Bool {
    let name = name.uppercased()
    return !obeyed.contains(name) && !obeyedPrefixes.contains(where: name.hasPrefix) && !name.hasSuffix("_PROXY")
  }

  private static let obeyedPrefixes = ["LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG", "LANYARD_", "XDG_"]
  private static let obeyed: Set<String> = [
    // shells, and programs that start others
    "BASH_ENV", "BROWSER", "EDITOR", "ENV", "GIT_ASKPASS", "GIT_EDITOR", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF",
    "GIT_PAGER", "GIT_PROXY_COMMAND", "GIT_SSH", "GIT_SSH_COMMAND", "HOME", "IFS", "PAGER", "PATH", "PROMPT_COMMAND",
    "PS4", "SHELL", "SSH_ASKPASS", "TMPDIR", "VISUAL",
    // interpreters
    "CLASSPATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "NODE_OPTIONS", "NODE_PATH", "PERL5LIB", "PERL5OPT",
    "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "RUBYLIB", "RUBYOPT", "_JAVA_OPTIONS",
    // glibc and OpenSSL, and whom TLS trusts
    "CURL_CA_BUNDLE", "GCONV_PATH", "GIT_SSL_CAINFO", "LOCPATH", "NODE_EXTRA_CA_CERTS", "OPENSSL_CONF",
    "OPENSSL_ENGINES", "OPENSSL_MODULES", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSLKEYLOGFILE", "SSL_CERT_DIR",
    "SSL_CERT_FILE",
  ]
}
