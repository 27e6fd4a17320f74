package lanyard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The client starts the agent as the commands do: one agent for any number of programs that find none
// (docs/protocol.md, Programs). The program that takes the lock beside the socket starts the agent and holds the lock
// until the agent answers. Other programs, commands among them, wait for the lock or for an answer.

const (
	// startPatience: a start takes milliseconds; a slow disk or a key derivation may take seconds.
	startPatience = 10 * time.Second
	startPause    = 4 * time.Millisecond
	// handoverPatience is how long another agent may hold the state: it may not listen yet.
	handoverPatience = 4 * time.Second
	handoverPause    = 30 * time.Millisecond

	exitAlreadyRunning = 75
)

// keptVariables are the environment of a new agent, the same that a command gives it. The agent outlives this
// program.
var keptVariables = strings.Fields(`
	ALL_PROXY CURL_CA_BUNDLE DBUS_SESSION_BUS_ADDRESS DISPLAY HOME HTTPS_PROXY LANG LANYARD_STATE_DIR LC_ALL LC_CTYPE
	NO_PROXY PATH SSL_CERT_DIR SSL_CERT_FILE WAYLAND_DISPLAY XAUTHORITY XDG_CONFIG_HOME XDG_RUNTIME_DIR XDG_STATE_HOME
	all_proxy http_proxy https_proxy no_proxy`)

const usualPath = "/usr/local/bin:/usr/bin:/bin"

var ends = map[int]string{
	64: "the agent did not accept its options or its configuration file (exit 64)",
	73: "a directory of the agent can't be created, or others may write to it (exit 73)",
	74: "the agent's store can't be read or written (exit 74); nothing was lost",
	75: "another agent holds this state directory (exit 75)",
	76: "the agent can't open its vault (exit 76): the key is wrong, or the store is damaged, old, foreign, or gone",
}

func startFailed(format string, values ...any) error {
	return failure(ErrAgentStartFailed, "no agent runs, and none could be started: "+format, values...)
}

// startingIsForbidden reports whether LANYARD_NO_START is set to anything but 0.
func startingIsForbidden() bool {
	value := os.Getenv("LANYARD_NO_START")
	return value != "" && value != "0"
}

// agentProgram is the path of lanyard-agent in PATH; empty if there is none. It skips relative entries: the choice
// must not depend on the working directory.
func agentProgram() string {
	places := os.Getenv("PATH")
	if places == "" {
		places = usualPath
	}
	for _, place := range strings.Split(places, ":") {
		if !strings.HasPrefix(place, "/") {
			continue
		}
		program := filepath.Join(place, "lanyard-agent")
		info, err := os.Stat(program)
		if err == nil && info.Mode().IsRegular() && syscall.Access(program, 1) == nil {
			return program
		}
	}
	return ""
}

// startAgent starts an agent at the socket, or waits for the one that another program starts, and connects to it. It
// returns nil once the context has ended; a started agent goes on.
func startAgent(ctx context.Context, path string) (*net.UnixConn, error) {
	began := time.Now()
	lock, err := openLock(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }()
	for !takeLock(lock) {
		connection, err := dialListener(ctx, path)
		if connection != nil || err != nil || gaveUp(ctx, startPause) {
			return connection, err
		}
		if time.Since(began) > startPatience {
			return nil, startFailed("another program has been starting the agent for %d s", startPatience/time.Second)
		}
	}
	connection, err := dialListener(ctx, path)
	for connection == nil && err == nil && ctx.Err() == nil {
		connection, err = launch(ctx, path, began)
	}
	return connection, err
}

// dialListener connects; nil if no process listens, or the context has ended.
func dialListener(ctx context.Context, path string) (*net.UnixConn, error) {
	for {
		connection, err := dial(ctx, path)
		if err != nil && isAbsent(err) {
			return nil, nil
		}
		if connection != nil || err != nil || gaveUp(ctx, startPause) {
			return connection, err
		}
	}
}

// launch starts one process of the agent, and connects to it, or to one that another program started. It returns nil
// if a second launch may succeed.
func launch(ctx context.Context, path string, began time.Time) (*net.UnixConn, error) {
	program := agentProgram()
	if program == "" {
		return nil, startFailed("the program lanyard-agent is not in PATH")
	}
	log := openLog()
	defer log.close()
	command := exec.Command(program, "--socket", path)
	command.Dir = "/"
	command.Env = []string{}
	for _, name := range keptVariables {
		if value := os.Getenv(name); value != "" {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	if log.file != nil {
		command.Stderr = log.file
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, startFailed("%s can't be run: %s", program, whyNotRun(program, err))
	}
	// The agent is a child of this program. Waiting leaves no zombie when the agent ends first.
	ended := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	for {
		connection, err := dialListener(ctx, path)
		if connection != nil || err != nil {
			return connection, err
		}
		select {
		case <-ended:
			status := command.ProcessState.Sys().(syscall.WaitStatus)
			if status.ExitStatus() != exitAlreadyRunning || time.Since(began) >= handoverPatience {
				return nil, startFailed("%s%s", whyEnded(status), log.told())
			}
			if gaveUp(ctx, handoverPause) {
				return nil, nil
			}
			return dialListener(ctx, path)
		default:
		}
		if time.Since(began) > startPatience {
			return nil, startFailed("a new agent did not answer within %d s%s", startPatience/time.Second, log.told())
		}
		if gaveUp(ctx, startPause) {
			return nil, nil
		}
	}
}

func whyEnded(status syscall.WaitStatus) string {
	if status.Signaled() {
		return fmt.Sprintf("signal %d ended the agent at once", int(status.Signal()))
	}
	if why, ok := ends[status.ExitStatus()]; ok {
		return why
	}
	return fmt.Sprintf("the agent ended at once (exit %d)", status.ExitStatus())
}

func openLock(directory string) (*os.File, error) {
	err := os.Mkdir(directory, 0o700)
	if err == nil || errors.Is(err, os.ErrExist) {
		var lock *os.File
		flags := os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW
		if lock, err = os.OpenFile(filepath.Join(directory, "start.lock"), flags, 0o600); err == nil {
			return lock, nil
		}
	}
	return nil, startFailed("the directory %s for its socket can't be written: %s", directory, reason(err))
}

func takeLock(lock *os.File) bool {
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// whyNotRun knows a program that is there while the dynamic linker of glibc that it names is not.
func whyNotRun(program string, err error) string {
	if _, missing := os.Stat(program); errors.Is(err, syscall.ENOENT) && missing == nil {
		return "it needs glibc, which is not here, or not in its usual place; systems with musl, as Alpine, are not " +
			"supported yet"
	}
	return reason(err)
}

// reason is the system's word for an error, without the paths that the error names.
func reason(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return err.Error()
}

const (
	// largestLog: a larger log is renamed to agent.log.old when the next agent starts.
	largestLog   = 1 << 20
	logLines     = 3
	logTailBytes = 2000
)

// agentLog is agent.log in the state directory: what an agent that a program started writes to standard error. Only
// this user can read it.
type agentLog struct {
	file *os.File
	path string
	// began is the size of the log at the agent's start.
	began int64
}

// openLog opens the log. Without one the agent starts nevertheless.
func openLog() *agentLog {
	log := &agentLog{}
	directory := stateDirectory()
	if directory == "" || os.MkdirAll(directory, 0o700) != nil {
		return log
	}
	log.path = filepath.Join(directory, "agent.log")
	if info, err := os.Lstat(log.path); err == nil && info.Size() > largestLog {
		if os.Rename(log.path, log.path+".old") != nil {
			return log
		}
	}
	flags := os.O_RDWR | os.O_CREATE | os.O_APPEND | syscall.O_NOFOLLOW
	file, err := os.OpenFile(log.path, flags, 0o600)
	if err != nil {
		return log
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return log
	}
	log.file, log.began = file, info.Size()
	return log
}

// told is the last lines that the agent wrote since its start, and the path of the log; empty if there are none.
func (l *agentLog) told() string {
	if l.file == nil {
		return ""
	}
	info, err := l.file.Stat()
	if err != nil || info.Size() <= l.began {
		return ""
	}
	from := info.Size() - logTailBytes
	if from < l.began {
		from = l.began
	}
	tail, err := io.ReadAll(io.NewSectionReader(l.file, from, info.Size()-from))
	if err != nil {
		return ""
	}
	lines := strings.FieldsFunc(strings.ToValidUTF8(string(tail), "\uFFFD"), func(r rune) bool { return r == '\n' })
	if len(lines) > logLines {
		lines = lines[len(lines)-logLines:]
	}
	return fmt.Sprintf("; it said: %s (more in %s)", strings.Join(lines, " "), l.path)
}

func (l *agentLog) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}

// stateDirectory is $LANYARD_STATE_DIR, else $XDG_STATE_HOME/lanyard, else ~/.local/state/lanyard.
func stateDirectory() string {
	if directory := os.Getenv("LANYARD_STATE_DIR"); directory != "" {
		return directory
	}
	if above := os.Getenv("XDG_STATE_HOME"); above != "" {
		return filepath.Join(above, "lanyard")
	}
	if home := os.Getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "lanyard")
	}
	return ""
}
