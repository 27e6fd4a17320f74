//go:build !linux

package lanyard

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// checkPeer fails unless the socket and its directory are this user's, and no other user may write to the directory.
// The standard library does not tell the peer's user on this system.
func checkPeer(_ *net.UnixConn, path string) error {
	for _, place := range []string{path, filepath.Dir(path)} {
		info, err := os.Stat(place)
		if err != nil {
			return err
		}
		status, ok := info.Sys().(*syscall.Stat_t)
		if !ok || int(status.Uid) != os.Geteuid() || info.IsDir() && info.Mode().Perm()&0o022 != 0 {
			return failure(ErrUntrustedAgent, "the agent's socket belongs to another user")
		}
	}
	return nil
}
