import DirectoryFiles
import Foundation
import SystemAdapters
import Testing

/// `DirectoryFile` and `TrustedFiles`: the one reader of `.lanyard` files.
@Suite struct DirectoryFileTests {
  let place = TemporaryDirectory()

  private var here: PathBytes { PathBytes(place.path).resolved! }

  private func fault(from directory: PathBytes) -> DirectoryFileFault.Reason? {
    do throws(DirectoryFileFault) {
      _ = try DirectoryFile.nearest(to: directory)
      return nil
    } catch {
      return error.reason
    }
  }

  private func make(_ name: String) -> PathBytes {
    let path = here.appending(name)
    path.withPointer { _ = mkdir($0, 0o700) }
    return path
  }

  @Test(arguments: [
    ("work", "work"), ("account = work\n", "work"), ("\u{FEFF}work\r\n", "work"),
    ("# ours\r\n\r\naccount=work # x\r\n", "work"),
    ("\u{FEFF}# ours\naccount\t=\twork", "work"), ("", nil), ("# work", nil), ("work\nhome", nil), ("work\rhome", nil),
    ("user = work", nil), ("account work", nil), ("@active", nil), ("account =", nil), ("wo\u{7}rk", nil),
    ("account = account = work", nil),
  ])
  func oneLineNamesTheAccount(_ text: String, _ account: String?) {
    #expect(DirectoryFile(path: PathBytes("/x"), text: text).account == account)
  }

  @Test func nearestFileUpward_isFound() throws {
    place.write(Array("work".utf8), to: ".lanyard")
    let deep = make("deep")
    #expect(try DirectoryFile.nearest(to: deep)?.path == here.appending(".lanyard"))
    #expect(try DirectoryFile.nearest(to: deep.appending("gone/further"))?.account == "work")
    place.write(Array("home".utf8), to: "deep/.lanyard")
    #expect(try DirectoryFile.nearest(to: deep)?.account == "home")
    // Through a link the file has one path, so that trust in it counts on each way.
    symlink(place.path("deep"), place.path("link"))
    #expect(try DirectoryFile.nearest(to: here.appending("link"))?.path == deep.appending(".lanyard"))
  }

  @Test func whatCanNotBeRead_isToldAndNothingAboveCounts() throws {
    place.write(Array("work".utf8), to: ".lanyard")
    let deep = make("deep")
    let file = place.path("deep/.lanyard")
    symlink("nowhere", file)
    #expect(fault(from: deep) == .link)
    unlink(file)
    symlink("../.lanyard", file)
    #expect(fault(from: deep) == .link)
    unlink(file)
    mkfifo(file, 0o600)
    #expect(fault(from: deep) == .otherKind)
    unlink(file)
    mkdir(file, 0o700)
    #expect(fault(from: deep) == .otherKind)
    rmdir(file)
    place.write([UInt8](repeating: 0x23, count: 4097), to: "deep/.lanyard")
    #expect(fault(from: deep) == .tooLarge)
    place.write([0xFF, 0xFE, 0x77, 0x00], to: "deep/.lanyard")
    #expect(fault(from: deep) == .noText)
    place.write([0x77, 0x00], to: "deep/.lanyard")
    #expect(fault(from: deep) == .noText)
  }

  @Test(.enabled(if: geteuid() != 0)) func fileWithoutTheRightToRead_isTold() {
    place.write(Array("work".utf8), to: ".lanyard", mode: 0o200)
    #expect(fault(from: here) == .system(EACCES))
  }

  @Test func fileThatOthersMayWrite_isPassedOver() throws {
    place.write(Array("work".utf8), to: ".lanyard")
    let deep = make("deep")
    place.write(Array("home".utf8), to: "deep/.lanyard", mode: 0o646)
    var skipped: [DirectoryFileFault] = []
    #expect(try DirectoryFile.nearest(to: deep) { skipped.append($0) }?.account == "work")
    #expect(skipped == [DirectoryFileFault(path: deep.appending(".lanyard"), reason: .openToOthers)])
  }

  @Test func directoryThatIsNotUTF8_hasItsFile() throws {
    let directory = PathBytes(here.bytes + [0x2F, 0x63, 0xE9])
    directory.withPointer { _ = mkdir($0, 0o700) }
    let path = directory.appending(".lanyard")
    path.withPointer { path in
      let file = open(path, O_WRONLY | O_CREAT, 0o600)
      _ = write(file, "work", 4)
      close(file)
    }
    let file = try #require(try DirectoryFile.nearest(to: directory))
    #expect(file.path == path)
    #expect(file.path.text == nil)
    #expect(file.path.shown == here.shown + "/c\\xE9/.lanyard")
    #expect(PathBytes(wireText: directory.wireText) == directory)
    var trusted = TrustedFiles(list: place.path("config/lanyard/trusted-directories"))
    #expect(!trusted.contains(file))
    try trusted.insert(file)
    trusted = TrustedFiles(list: place.path("config/lanyard/trusted-directories"))
    #expect(trusted.contains(file))
    #expect(trusted.paths == [path])
    #expect(!trusted.contains(DirectoryFile(path: path, text: "home")))
    #expect(trusted.knows(path))
  }

  @Test func trustedFileThatChangedOrCanNotBeRead_isToldAndNothingAboveCounts() throws {
    place.write(Array("work".utf8), to: ".lanyard")
    let deep = make("deep")
    var trusted = TrustedFiles(list: place.path("config/lanyard/trusted-directories"))
    try trusted.insert(DirectoryFile(path: here.appending(".lanyard"), text: "work"))
    func found() -> Result<String?, DirectoryFileFault> {
      do throws(DirectoryFileFault) { return .success(try trusted.nearest(to: deep)?.account) } catch {
        return .failure(error)
      }
    }
    #expect(found() == .success("work"))
    // What the person never trusted stops nothing.
    place.write(Array("home".utf8), to: "deep/.lanyard")
    #expect(found() == .success(nil))
    place.write([0xFF], to: "deep/.lanyard")
    #expect(found() == .success(nil))
    let path = deep.appending(".lanyard")
    try trusted.insert(DirectoryFile(path: path, text: "home"))
    #expect(found() == .failure(DirectoryFileFault(path: path, reason: .noText)))
    place.write(Array("home # changed".utf8), to: "deep/.lanyard")
    #expect(found() == .failure(DirectoryFileFault(path: path, reason: .changed)))
    place.write(Array("home".utf8), to: "deep/.lanyard")
    #expect(found() == .success("home"))
  }

  @Test func pathsOnTheWire() {
    #expect(PathBytes("/home/é").wireText == "/home/é")
    #expect(PathBytes(wireText: "/home/%E9")?.text == "/home/%E9")
    #expect(PathBytes(wireText: "file:///home/%E9%25")?.bytes == Array("/home/".utf8) + [0xE9, 0x25])
    for text in ["", "home", "file://host/x", "file:///%", "file:///%0", "file:///%zz", "file:///%00", "/a\u{0}"] {
      #expect(PathBytes(wireText: text) == nil, "\(text)")
    }
    #expect(PathBytes("/").directory == PathBytes("/"))
    #expect(PathBytes("/a").directory == PathBytes("/"))
    #expect(PathBytes("/a//b/").directory == PathBytes("/a"))
    #expect(PathBytes("/").appending("x") == PathBytes("/x"))
  }
}
