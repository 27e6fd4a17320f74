import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard credential kubectl`: an exec plugin of Kubernetes clients (client-go credential plugins).
struct CredentialKubectl: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kubectl",
    abstract: "A credential plugin of kubectl and other Kubernetes clients.",
    discussion: """
      It gives the ID token of an account, which API servers with OpenID Connect take, or with --access-token its \
      access token. --account chooses the account. Without it the cluster's address does, if the kubeconfig says \
      provideClusterInfo: a rule or a provider has to cover it. Else the usual order does.

      EXAMPLES:
        kubectl config set-credentials acme --exec-command=lanyard \\
          --exec-arg=credential --exec-arg=kubectl \\
          --exec-arg=-u --exec-arg=work \\
          --exec-interactive-mode=IfAvailable \\
          --exec-api-version=client.authentication.k8s.io/v1
      """)

  @Flag(help: "The access token instead of the ID token.")
  var accessToken = false

  @OptionGroup var common: CommonOptions

  func run() throws {
    let request = try KubernetesExecInfo.read()
    var agent = try common.connect()
    let credential = try account(for: request, via: &agent)
    let write = { (token: IssuedCredential) throws(CommandFailure) in
      var answer = JSONWriter()
      answer.beginObject()
      answer.member("apiVersion", request.apiVersion)
      answer.member("kind", "ExecCredential")
      answer.key("status")
      answer.beginObject()
      answer.member("expirationTimestamp", token.expiresAt?.rfc3339Seconds)
      answer.member("token", "", token)
      answer.endObject()
      answer.endObject()
      answer.text("\n")
      try answer.answer()
    }
    if accessToken {
      try credential.token(via: &agent, write)
    } else {
      try credential.identity(via: &agent, write)
    }
  }

  private func account(
    for request: KubernetesExecInfo, via agent: inout AgentConnection
  ) throws(CommandFailure) -> ResourceCredential {
    guard common.account == nil, let server = request.server else { return try .chosen(common, via: &agent) }
    // The active account is for no cluster that the person did not name.
    let address = try ResourceAddress(typed: server)
    guard let found = try ResourceCredential.find(address, via: &agent) else {
      throw ResourceCredential.noneAnswers(for: address, named: nil, via: &agent)
    }
    return found
  }
}

/// What a Kubernetes client says of itself in `KUBERNETES_EXEC_INFO`.
struct KubernetesExecInfo {
  var apiVersion = "client.authentication.k8s.io/v1"
  /// The address of the cluster, if the kubeconfig lets it be told.
  var server: String?

  private static let versions = ["v1", "v1beta1"].map { "client.authentication.k8s.io/\($0)" }

  static func read() throws(CommandFailure) -> KubernetesExecInfo {
    var info = KubernetesExecInfo()
    // A person tries the command by hand.
    guard let text = Environment.value("KUBERNETES_EXEC_INFO") else { return info }
    let found = JSONInput.read(text) { root in
      (root["apiVersion"]?.string, root["spec"]?["cluster"]?["server"]?.string)
    }
    guard let found, let version = found.0 else {
      throw .usage("KUBERNETES_EXEC_INFO is not an ExecCredential of a Kubernetes client.")
    }
    guard versions.contains(version) else {
      throw .usage(
        "This Kubernetes client asks for \(Text.shown(version)), which this program does not know.",
        hints: ["Set apiVersion: \(info.apiVersion) in the kubeconfig."])
    }
    info.apiVersion = version
    info.server = found.1
    return info
  }
}
