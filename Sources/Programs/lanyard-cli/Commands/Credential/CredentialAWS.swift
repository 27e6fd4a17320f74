import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard credential aws`: a `credential_process` of the programs of Amazon Web Services.
struct CredentialAWS: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "aws",
    abstract: "A credential_process of the AWS command line and SDKs.",
    discussion: """
      The agent exchanges the ID token of an account for credentials of a role (STS, AssumeRoleWithWebIdentity). It \
      keeps them sealed and gives them again until a quarter of an hour before their end.

      EXAMPLES:
        lanyard setup aws --account work --role-arn ARN    # writes this line:
        credential_process = lanyard credential aws -u work --role-arn ARN
      """)

  @Option(help: ArgumentHelp("The role: arn:aws:iam::ACCOUNT:role/NAME.", valueName: "arn"))
  var roleArn: String

  @Option(help: ArgumentHelp("What the log of AWS names the session. Default: lanyard.", valueName: "name"))
  var sessionName: String?

  @Option(help: ArgumentHelp("How long the credentials are valid.", valueName: "seconds"))
  var duration: Int?

  @Option(help: ArgumentHelp("The Security Token Service, if it is not that of AWS.", valueName: "url"))
  var endpoint: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    let account = try ResourceCredential.chosen(common, via: &agent).account
    do throws(CommandFailure) {
      try agent.call("credential.aws") { writer in
        writer.member("account", account)
        writer.member("roleArn", roleArn)
        writer.member("sessionName", sessionName)
        writer.member("durationSeconds", duration)
        writer.member("endpoint", endpoint)
      } result: { (result) throws(CommandFailure) in
        let secret = try IssuedCredential(result, in: "secretAccessKey")
        let session = try IssuedCredential(result, in: "sessionToken")
        guard let key = result["accessKeyId"]?.string, let expiresAt = secret.expiresAt else {
          throw CommandFailure.notUnderstood
        }
        var answer = JSONWriter()
        answer.beginObject()
        answer.member("Version", 1)
        answer.member("AccessKeyId", key)
        answer.member("SecretAccessKey", "", secret)
        answer.member("SessionToken", "", session)
        answer.member("Expiration", expiresAt.rfc3339Seconds)
        answer.endObject()
        answer.text("\n")
        try answer.answer()
      }
    } catch {
      guard let problem = error.problem, let option = Self.options[problem.path] else { throw error }
      throw CommandFailure.usage("--\(option) must be \(problem.expected). Nothing was sent.")
    }
  }

  private static let options = [
    "/roleArn": "role-arn", "/sessionName": "session-name", "/durationSeconds": "duration", "/endpoint": "endpoint",
  ]
}
