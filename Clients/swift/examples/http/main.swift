import Foundation
import LanyardClient
import LanyardHTTP

let origin = CommandLine.arguments.dropFirst().first ?? "https://api.example"
let session = LanyardSession(Lanyard(), account: "work", origins: [origin])
let (data, response) = try await session.data(from: URL(string: origin + "/me")!)
print(response.statusCode, String(decoding: data, as: UTF8.self))
