package lanyard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// runtimeDirectories is where a login session makes the runtime directory of a user.
var runtimeDirectories = "/run/user"

// temporaryDirectory is where the socket's directory is without a session.
var temporaryDirectory = "/tmp"

// DefaultSocket finds the socket of this user's agent as the commands do: $LANYARD_SOCKET, else
// $XDG_RUNTIME_DIR/lanyard/agent.sock, else /run/user/UID/lanyard/agent.sock if /run/user/UID is this user's, else
// /tmp/lanyard-UID/agent.sock. It fails with ErrAgentNotRunning if LANYARD_SOCKET is relative, or /tmp/lanyard-UID is
// not this user's alone.
func DefaultSocket() (string, error) {
	if explicit := os.Getenv("LANYARD_SOCKET"); explicit != "" {
		if !filepath.IsAbs(explicit) {
			return "", failure(ErrAgentNotRunning, "LANYARD_SOCKET must be an absolute path")
		}
		return explicit, nil
	}
	runtime := os.Getenv("XDG_RUNTIME_DIR")
	// A relative one is to be ignored (XDG Base Directory Specification).
	if !filepath.IsAbs(runtime) {
		runtime = usualRuntimeDirectory()
	}
	if runtime != "" {
		return filepath.Join(runtime, "lanyard", "agent.sock"), nil
	}
	directory := filepath.Join(temporaryDirectory, fmt.Sprintf("lanyard-%d", os.Geteuid()))
	if !isMissingOrPrivate(directory) {
		return "", failure(ErrAgentNotRunning, "the agent's socket has no directory: XDG_RUNTIME_DIR is not set, and %s "+
			"is not a directory that only this user can use", directory)
	}
	return filepath.Join(directory, "agent.sock"), nil
}

// isMissingOrPrivate checks a name that everyone can use: what stands there must be a directory of this user alone.
func isMissingOrPrivate(directory string) bool {
	info, err := os.Lstat(directory)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && int(status.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}

func usualRuntimeDirectory() string {
	usual := filepath.Join(runtimeDirectories, strconv.Itoa(os.Geteuid()))
	info, err := os.Lstat(usual)
	if err != nil {
		return ""
	}
	if status, ok := info.Sys().(*syscall.Stat_t); !ok || int(status.Uid) != os.Geteuid() {
		return ""
	}
	return usual
}

// dial tries once to connect. It returns nil while the agent's queue is full.
func dial(ctx context.Context, path string) (*net.UnixConn, error) {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
	case errors.Is(err, syscall.EAGAIN) || ctx.Err() != nil:
		return nil, nil
	default:
		return nil, err
	}
	unix := connection.(*net.UnixConn)
	// Secrets go over this socket. In a directory that others can write, another user may have bound it.
	if err := checkPeer(unix, path); err != nil {
		_ = unix.Close()
		return nil, err
	}
	return unix, nil
}

// isAbsent reports whether an error says that no process listens, so that an agent may be started.
func isAbsent(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR)
}

func notRunning(path string, err error) error {
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	why := "the connection failed"
	var number syscall.Errno
	var address *net.AddrError
	if errors.As(err, &number) {
		why = number.Error()
	} else if errors.As(err, &address) {
		why = address.Err
	}
	return failure(ErrAgentNotRunning, "no agent answers at %s: %s", path, why)
}

// dialOrStart connects. If no process listens, it starts the agent, where that is allowed.
func dialOrStart(ctx context.Context, path string, starts bool) (*net.UnixConn, error) {
	for attempt := 0; ; attempt++ {
		connection, err := dial(ctx, path)
		if err != nil && starts && isAbsent(err) {
			absolute, pathErr := filepath.Abs(path)
			if pathErr != nil {
				return nil, notRunning(path, err)
			}
			connection, err = startAgent(ctx, absolute)
		}
		if err != nil {
			return nil, notRunning(path, err)
		}
		if connection != nil {
			return connection, nil
		}
		if gaveUp(ctx, pause(attempt)) {
			return nil, ctx.Err()
		}
	}
}

// pause is the time before the next attempt to reach the agent: 50 ms, doubling to 5 s.
func pause(attempt int) time.Duration {
	if attempt > 6 {
		return 5 * time.Second
	}
	return 50 * time.Millisecond << attempt
}

// gaveUp waits. It reports whether the caller wants no connection any more.
func gaveUp(ctx context.Context, duration time.Duration) bool {
	if duration <= 0 {
		return ctx.Err() != nil
	}
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-timer.C:
		return false
	}
}
