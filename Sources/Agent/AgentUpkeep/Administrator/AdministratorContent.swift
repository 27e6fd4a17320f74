internal import AgentModel
package import AgentOAuth
package import AgentPermissions
internal import AgentStore

/// What is wrong with a file of the administrator, or with a folder of them.
package struct AdministratorProblem: Hashable, Sendable {
  /// The file or the folder.
  var path: String
  /// A sentence for a person, with the place in the file where one is known.
  var text: String

  package init(path: String, text: String) {
    self.path = path
    self.text = text
  }
}

/// A provider that a file of the administrator describes; `managedBy` is the file.
package struct ManagedProvider: Sendable {
  package var provider: Provider
  package var path: String

  package init(_ provider: Provider, path: String) {
    self.provider = provider
    self.provider.managedBy = path
    self.path = path
  }
}

/// A policy whose file is there and can't be used.
package struct UnreadPolicy: Hashable, Sendable {
  /// Nil if it can't be told.
  var name: String?
  /// The file, or the folder whose files are not known.
  var path: String

  package init(name: String?, path: String) {
    self.name = name
    self.path = path
  }
}

extension PolicyCache {
  /// Takes what the administrator's files say now.
  func setManaged(_ content: AdministratorContent) {
    setManaged(content.policies, unread: content.deniedPolicies, mayBeAny: content.mayDescribeAnyPolicy)
  }
}

/// What the administrator's files say, as far as they can be used (docs/administrator.md).
package struct AdministratorContent: Sendable {
  var mark: [Int64]
  package var providers: [ManagedProvider] = []
  package var policies: [ManagedPolicy] = []
  /// The policies that files describe which can't be used.
  package var unread: [UnreadPolicy] = []
  package var problems: [AdministratorProblem] = []

  package init(mark: [Int64] = []) { self.mark = mark }

  /// The files of the policies that deny everything, by name: theirs can't be used, and what it said was never known.
  package var deniedPolicies: [String: String] {
    var denied: [String: String] = [:]
    for policy in unread {
      guard let name = policy.name, !isKnown(policy) else { continue }
      denied[name] = policy.path
    }
    return denied
  }

  /// A file can't be used that may describe the policy of any name: those that no file describes deny everything.
  package var mayDescribeAnyPolicy: Bool { unread.contains { $0.name == nil && !isKnown($0) } }

  private func isKnown(_ policy: UnreadPolicy) -> Bool {
    policies.contains { $0.source.text == policy.path || $0.policy.name == policy.name }
  }

  /// True for a document of a file that is there and can't be used now, or whose folder can't: what it said before
  /// stays.
  func mayStillHold(_ path: String) -> Bool {
    problems.contains { $0.path == path || path.hasPrefix($0.path + "/") }
  }

  /// The same, with what `before` knew of files that can't be used now.
  package func keeping(_ before: AdministratorContent) -> AdministratorContent {
    var whole = self
    for provider in before.providers where mayStillHold(provider.path) {
      let name = provider.provider.configuration.name
      guard !whole.providers.contains(where: { $0.provider.configuration.name == name }) else { continue }
      whole.providers.append(provider)
    }
    for policy in before.policies where mayStillHold(policy.source.text) {
      guard !whole.policies.contains(where: { $0.policy.name == policy.policy.name }) else { continue }
      whole.policies.append(policy)
    }
    return whole
  }
}
