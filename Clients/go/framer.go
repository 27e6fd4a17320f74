package lanyard

import (
	"bytes"
	"io"
)

// maximumAnswerBytes is the longest line that the client reads. Answers to request.send hold whole bodies.
const maximumAnswerBytes = 64 << 20

const readBytes = 64 << 10

// framer cuts received bytes into lines.
type framer struct {
	from   io.Reader
	buffer []byte
	// begin is where the next line begins, scanned is how far there is no end of it.
	begin, scanned int
}

// next returns the next line without its end; it is the caller's to keep. Blank lines are left out.
func (f *framer) next() ([]byte, error) {
	for {
		if length := bytes.IndexByte(f.buffer[f.scanned:], '\n'); length >= 0 {
			end := f.scanned + length
			line := f.buffer[f.begin:end]
			f.begin, f.scanned = end+1, end+1
			if len(line) > 0 && line[len(line)-1] == '\r' {
				line = line[:len(line)-1]
			}
			if len(line) == 0 {
				continue
			}
			return append(make([]byte, 0, len(line)), line...), nil
		}
		f.scanned = len(f.buffer)
		if f.scanned-f.begin > maximumAnswerBytes {
			return nil, failure(ErrProtocol, "a line of the agent is longer than %d bytes", maximumAnswerBytes)
		}
		if err := f.fill(); err != nil {
			return nil, err
		}
	}
}

func (f *framer) fill() error {
	if f.begin > 0 {
		rest := copy(f.buffer, f.buffer[f.begin:])
		f.buffer, f.scanned, f.begin = f.buffer[:rest], f.scanned-f.begin, 0
		if rest == 0 && cap(f.buffer) > 1<<20 {
			f.buffer = nil // one long answer is no reason to keep so much memory
		}
	}
	if cap(f.buffer)-len(f.buffer) < readBytes/4 {
		larger := make([]byte, len(f.buffer), 2*cap(f.buffer)+readBytes)
		copy(larger, f.buffer)
		f.buffer = larger
	}
	count, err := f.from.Read(f.buffer[len(f.buffer):cap(f.buffer)])
	f.buffer = f.buffer[:len(f.buffer)+count]
	if count > 0 {
		return nil
	}
	return err
}
