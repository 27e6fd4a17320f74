package lanyard

import (
	"net"
	"os"
	"syscall"
)

// checkPeer fails unless a process of this user listens.
func checkPeer(connection *net.UnixConn, _ string) error {
	raw, err := connection.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var peerErr error
	err = raw.Control(func(descriptor uintptr) {
		peer, peerErr = syscall.GetsockoptUcred(int(descriptor), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil {
		return err
	}
	if peerErr != nil {
		return peerErr
	}
	if int(peer.Uid) != os.Geteuid() {
		return failure(ErrUntrustedAgent, "the agent's socket belongs to another user")
	}
	return nil
}
