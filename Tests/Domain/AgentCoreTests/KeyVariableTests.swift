import AgentCore
import Testing

@Suite struct KeyVariableTests {
  @Test(arguments: [
    "LD_PRELOAD", "ld_preload", "BASH_ENV", "PATH", "https_proxy", "ALL_PROXY", "SSL_CERT_FILE", "LANYARD_SOCKET",
    "NODE_OPTIONS", "GIT_CONFIG_COUNT",
  ])
  func variableThatProgramsObey_holdsNoKey(name: String) {
    #expect(!KeyVariable.mayHoldKey(name))
  }

  @Test(arguments: [
    "OPENAI_API_KEY", "TWINE_PASSWORD", "GIT_TOKEN", "nothing", "TOKEN", "PROXY_KEY", "PATH_KEY", "XAI_API_KEY",
  ])
  func variableOfAService_holdsAKey(name: String) {
    #expect(KeyVariable.mayHoldKey(name))
  }
}
