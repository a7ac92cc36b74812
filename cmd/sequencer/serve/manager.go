package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// tellManager tells systemd, if it has started this process and wants to be told.
func (s *Service) tellManager(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("the service manager was not told", "told", state, "err", err)
	}
}

// tellEnding says that this process ends, and how long that may take.
func (s *Service) tellEnding() {
	most := s.cfg.HTTP.ShutdownDelay + 2*max(s.cfg.HTTP.ShutdownTimeout, time.Second) + 10*time.Second
	s.tellManager(fmt.Sprintf("%s\nEXTEND_TIMEOUT_USEC=%d", daemon.SdNotifyStopping, most.Microseconds()))
}

// beat tells the manager's watchdog that this process is sound, twice as often as it wants
// to hear of it, and does not while it is not.
func (s *Service) beat(ctx context.Context, sound func(context.Context) error) {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil || limit <= 0 {
		return
	}
	due := time.NewTicker(limit / 2)
	defer due.Stop()
	for {
		check, cancel := context.WithTimeout(ctx, limit/2)
		err := sound(check)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			s.tellManager(daemon.SdNotifyWatchdog)
		} else {
			s.log.Error("not sound: the watchdog is not told", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-due.C:
		}
	}
}

// soundAt returns what asks this process, as a client would while clients are served,
// whether it lives, and whether what drives transactions still answers. An outage of Redis
// or of nodes does not count: a restart would not mend it.
func (s *Service) soundAt(served context.Context, l net.Addr) func(context.Context) error {
	scheme, transport := "http", &http.Transport{DisableKeepAlives: true}
	if s.certificate != nil {
		scheme = "https"
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // it asks itself
	}
	client := &http.Client{Transport: transport}
	return func(ctx context.Context) error {
		s.sequencer.Standing() // hangs with it
		if served.Err() != nil {
			return nil
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+l.String()+"/healthz", nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
}
