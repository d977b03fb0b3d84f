package session

import (
	"testing"
	"time"
)

// The fast way writes what the layout does, before 1970 and far away, too.
func TestFormatTime(t *testing.T) {
	for _, ms := range []int64{0, 1, 7, 99, 999, 1000, -1, -999, 1735689600123, 253402300799999, 253402300800000, -62135596800000, -62167219200001, 1 << 52} {
		if got, want := formatTime(ms), time.UnixMilli(ms).UTC().Format(timeLayout); got != want {
			t.Errorf("%d: %q, want %q", ms, got, want)
		}
	}
}
